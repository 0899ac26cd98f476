"""Folders of results, as mteb 2.26, sentence-transformers 6.2, lm_eval 0.4.13, beir 2.2 write."""

from __future__ import annotations

import json

TASKS = [f"Task{number}" for number in range(6)]
VALUES = {
    "org/good": dict(zip(TASKS, [0.9, 0.8, 0.7, 0.6, 0.9, 0.8], strict=True)),
    "org/bad": dict(zip(TASKS, [0.5, 0.4, 0.5, 0.3, 0.4, 0.6], strict=True)),
}


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")


def mteb_task(task, scores):
    """Content of a file; ``scores``: {split: {subset: value}}."""
    rows = {
        split: [
            {"main_score": value, "ndcg_at_10": value, "v_measures": {"Level 0": [0.1, 0.2]},
             "hf_subset": subset, "languages": ["eng-Latn"]}
            for subset, value in subsets.items()
        ]
        for split, subsets in scores.items()
    }  # fmt: skip
    return {"dataset_revision": "abc", "task_name": task, "mteb_version": "2.26.24",
            "scores": rows, "evaluation_time": 3.5, "kg_co2_emissions": None}  # fmt: skip


def mteb(folder, values=VALUES):
    """As the repository of mteb's results: two subsets, whose mean is the value."""
    for model, row in values.items():
        place = folder / model.replace("/", "__") / "1a2b3c"
        write(place / "model_meta.json", {"name": model, "revision": "1a2b3c"})
        for task, value in row.items():
            subsets = {"default": value + 0.25, "de": value - 0.25}
            write(place / f"{task}.json", mteb_task(task, {"test": subsets}))


def old_mteb(folder):
    for model, row in VALUES.items():
        for task, value in row.items():
            scores = {"ndcg_at_10": value, "cos_sim": {"ap": 0.5}, "evaluation_time": 3.5}
            if task in TASKS[:2]:
                scores = {"en": scores, "evaluation_time": 3.5}
            content = {"mteb_dataset_name": task, "mteb_version": "1.1.0", "test": scores}
            write(folder / model.replace("/", "__") / f"{task}.json", content)


def sentence_transformers(folder):
    """The similarity is in the names; a re-ranker's file ends with its cut-off."""
    for model, row in VALUES.items():
        prefix, place = "cosine-" if model == "org/good" else "dot-", model.replace("/", "__")
        for task, value in row.items():
            names = f"epoch,steps,{prefix}Accuracy@1,{prefix}NDCG@10"
            end = "results"
            if task == TASKS[0]:
                names, end = "epoch,steps,MAP,NDCG@10", "results_@10"
            text = f"{names}\n0,9,1,0.1\n1,18,1,{value}"
            write(folder / place / "eval" / f"{task}_{end}.csv", text)
        mean = folder / place / "eval" / "NanoBEIR_evaluation_mean_results.csv"
        write(mean, f"epoch,steps,{prefix}NDCG@10\n1,18,0.5")


def lm_evaluation(folder):
    for model, row in VALUES.items():
        for time, shift in (("2026-01-01T10-15-10.8", -0.1), ("2026-02-01T10-15-10.8", 0.0)):
            results = {
                task: {"name": task, "alias": task, "sample_len": 4, "acc,none": value + shift,
                       "acc_stderr,none": "N/A" if task == TASKS[0] else 0.01}
                for task, value in row.items()
            }  # fmt: skip
            group = {"all": {"alias": "all", "acc,none": 0.5, "sample_count": {"acc,none": 24}}}
            content = {"results": results | group, "groups": group, "model_name": model,
                       "group_subtasks": {"all": TASKS, TASKS[0]: []}}  # fmt: skip
            place = folder / model.replace("/", "__")
            write(place / f"results_{time}.json", content)
            for task, value in row.items():
                lines = [
                    {"doc_id": doc, "doc": {"q": "a\u2028b"}, "filter": name,
                     "metrics": ["acc"], "acc": value + shift + doc}
                    for name in ("strict", "loose") for doc in range(2)
                ]  # fmt: skip
                text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
                write(place / f"samples_{task}_{time}.jsonl", text + "\n")


def beir(folder):
    for model, row in VALUES.items():
        for task, value in row.items():
            content = {"ndcg": {"NDCG@1": 0.0, "NDCG@10": value}, "map": {"MAP@10": 0.5}}
            write(folder / model.replace("/", "__") / f"{task}.json", content)
