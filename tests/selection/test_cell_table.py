"""Cells of tables of scores: decimal commas, and what is no number."""

from __future__ import annotations

import pytest

from rankwise import leaderboard

ROWS = [("u1", 0.5, 1.25), ("u2", 0.75, 0.5), ("u3", 0.125, 1.5), ("u4", 0.25, 2.0)]


def write(path, sep, mark, rows=ROWS):
    lines = [sep.join(["task", "a", "b"])]
    lines += [sep.join([unit, *(str(v).replace(".", mark) for v in values)])
              for unit, *values in rows]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    return path


def values(board):
    return {name: column.tolist() for name, column in board.per_query().items()}


WANTED = {"a": [0.5, 0.75, 0.125, 0.25], "b": [1.25, 0.5, 1.5, 2.0]}


def test_commas_in_files_with_semicolons_are_decimal_marks(tmp_path):
    assert values(leaderboard(write(tmp_path / "a.csv", ";", ","))) == WANTED
    assert values(leaderboard(write(tmp_path / "b.csv", ";", "."))) == WANTED
    for sep in (";", "\t", "|"):
        path = write(tmp_path / "c.csv", sep, ",")
        assert values(leaderboard(path, decimal=",")) == WANTED


def test_commas_elsewhere_name_the_option(tmp_path):
    path = write(tmp_path / "a.tsv", "\t", ",")
    with pytest.raises(ValueError, match=r"'0,5' in column 'a' .* decimal marks, pass decimal=','"):
        leaderboard(path)
    quoted = tmp_path / "b.csv"
    quoted.write_text('system,task,score\nx,t1,"0,5"\nx,t2,"0,7"\ny,t1,"0,1"\ny,t2,"0,2"\n')
    with pytest.raises(ValueError, match=r"'0,5' in column 'score' .* pass decimal=','"):
        leaderboard(quoted)
    assert values(leaderboard(quoted, decimal=",")) == {"x": [0.5, 0.7], "y": [0.1, 0.2]}


def test_commas_that_may_mark_thousands_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("task;a;b\nt1;1,250;2,000\nt2;3,125;4,500\n")
    with pytest.raises(ValueError, match=r"'1,250' in column 'a' .* pass decimal=','"):
        leaderboard(path)
    assert values(leaderboard(path, decimal=","))["a"] == [1.25, 3.125]
    path.write_text("task;a;b\nt1;1,25;2.5\nt2;3,5;4.5\n")
    with pytest.raises(ValueError, match=r"'1,25' in column 'a' .* pass decimal=','"):
        leaderboard(path)
    with pytest.raises(ValueError, match=r"'2.5' in column 'b' is not .* \(such as 0,5"):
        leaderboard(path, decimal=",")
    with pytest.raises(ValueError, match=r"decimal must be one of '.', ',', got ';'"):
        leaderboard(path, decimal=";")


def test_frames_of_text_take_the_mark():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"task": ["t1", "t2", "t3"], "a": ["0,5", "1", "2"], "b": [1.5, 2.5, 0.0]})
    assert values(leaderboard(frame, decimal=",")) == {"a": [0.5, 1.0, 2.0], "b": [1.5, 2.5, 0.0]}
    with pytest.raises(ValueError, match=r"'0,5' in column 'a' .* pass decimal=','"):
        leaderboard(frame)


@pytest.mark.parametrize("cell", ["1_000", "1e400", "inf", "12%", "1 000", "0x1p3"])
def test_what_python_reads_as_a_number_but_no_table_means(tmp_path, cell):
    path = write(tmp_path / "a.csv", ",", ".", [*ROWS, ("u5", cell, 1.0)])
    with pytest.raises(ValueError, match=r"line 6: .* in column 'a' is not a finite number"):
        leaderboard(path)


def test_sizes_beyond_squares_are_refused():
    for size in (1e300, 1e-300):
        with pytest.raises(ValueError, match=r"scores must not be larger than 1e\+100, nor all sm"):
            leaderboard({"a": [size, 2 * size, size], "b": [size, size, 0.0]})
    values = {"a": [1.0, 2.0, 1.0, 3.0, 2.0], "b": [1.0, 1.0, 0.0, 2.0, 2.0]}
    for size in (1e-90, 1e90):
        scaled = {name: [size * v for v in column] for name, column in values.items()}
        for one, other in zip(leaderboard(values).rows(), leaderboard(scaled).rows(), strict=True):
            assert one["p_corrected"] == other["p_corrected"]


def test_a_system_without_values_is_named():
    values = {"a": [None] * 6, "b": [0.1, 0.2, 0.3, 0.2, 0.1, 0.4]}
    board = leaderboard(values, missing="pairs")
    assert [row["rank"] for row in board.rows()] == [1, None]
    assert "a has no value of score." in str(board).splitlines()


def test_names_are_escaped_in_latex():
    values = {"a|b<c>": [0.1, 0.2, 0.3, 0.2], "d_e%": [0.2, 0.1, 0.4, 0.2]}
    table = leaderboard(values).to_latex()
    assert r"a\textbar{}b\textless{}c\textgreater{}" in table and r"d\_e\%" in table


def test_a_long_table_of_unusual_names_is_no_board_of_one_system():
    pd = pytest.importorskip("pandas")
    rows = [(model, f"t{t}", 0.1 * t) for model in "xy" for t in range(5)]
    frame = pd.DataFrame(rows, columns=["Modell", "Aufgabe", "Wert"])
    with pytest.raises(ValueError, match="'Wert' is the only column of scores, so there would be"):
        leaderboard(frame)
    named = leaderboard(frame, system="Modell", unit="Aufgabe", score="Wert")
    assert named.rankers == ["x", "y"]
    assert leaderboard(frame, unit=["Modell", "Aufgabe"]).rankers == ["Wert"]


def test_differences_that_are_equal_but_for_rounding_detect_nothing():
    base = [0.1 * t for t in range(20)]
    board = leaderboard({"x": [v + 0.1 for v in base], "y": base})
    assert board.detectable_difference() is None and "is found" not in str(board)
