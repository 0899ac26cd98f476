"""Folders of results, as mteb and others write them."""

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


def mteb(folder, values=VALUES):
    """As the repository of mteb's results: two subsets, whose mean is the value."""
    for model, row in values.items():
        place = folder / model.replace("/", "__") / "1a2b3c"
        write(place / "model_meta.json", {"name": model, "revision": "1a2b3c"})
        for task, value in row.items():
            scores = [
                {"main_score": value + shift, "ndcg_at_10": value + shift, "hf_subset": subset,
                 "languages": ["eng-Latn"]}
                for subset, shift in (("default", 0.25), ("de", -0.25))
            ]  # fmt: skip
            write(place / f"{task}.json", {"task_name": task, "scores": {"test": scores}})


def old_mteb(folder):
    for model, row in VALUES.items():
        for task, value in row.items():
            content = {"mteb_dataset_name": task, "mteb_version": "1.1.0",
                       "test": {"ndcg_at_10": value, "evaluation_time": 3.5}}  # fmt: skip
            write(folder / model.replace("/", "__") / f"{task}.json", content)


def sentence_transformers(folder):
    for model, row in VALUES.items():
        for task, value in row.items():
            text = f"epoch,steps,cosine-Accuracy@1,cosine-NDCG@10\n0,9,1,0.1\n1,18,1,{value}\n"
            write(folder / model.replace("/", "__") / "eval" / f"{task}_results.csv", text)
        mean = folder / model.replace("/", "__") / "eval" / "NanoBEIR_evaluation_mean_results.csv"
        write(mean, "epoch,steps,cosine-NDCG@10\n1,18,0.5\n")


def lm_evaluation(folder):
    for model, row in VALUES.items():
        for time, shift in (("2026-01-01T10", -0.1), ("2026-02-01T10", 0.0)):
            results = {
                task: {"alias": task, "acc,none": value + shift, "acc_stderr,none": 0.01}
                for task, value in row.items()
            }
            content = {"results": results | {"all": {"acc,none": 0.5}}, "model_name": model,
                       "group_subtasks": {"all": TASKS, TASKS[0]: []}}  # fmt: skip
            write(folder / model.replace("/", "__") / f"results_{time}.json", content)


def beir(folder):
    for model, row in VALUES.items():
        for task, value in row.items():
            content = {"ndcg": {"NDCG@1": 0.0, "NDCG@10": value}, "map": {"MAP@10": 0.5}}
            write(folder / model.replace("/", "__") / f"{task}.json", content)
