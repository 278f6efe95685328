"""Sentences, settings, machine facts, names and the command that runs it again."""

import io
import re
import shlex

import msgspec
import pytest
from rich.console import Console

from suite import scenarios
from suite.analysis import analyse
from suite.analysis.types import Estimate
from suite.cli.main import bench
from suite.record.schema import Absent, Arm, Calibrated, ControlDraw, Failure, Fingerprint, Run
from suite.report import html, machine, names, parity, rerun, sentences, settings_table, terminal, units
from suite.report.export.columns import COLUMNS
from suite.report.export.tables import rows
from suite.report.export.writing import write_csv
from suite.share import card
from suite.statistics.verdicts import Verdict
from tests.records_builder import make_machine, make_run


def plain(text: str) -> str:
    return text.replace(units.NBSP, " ").replace(units.GROUP_SPACE, " ")


def test_the_overall_sentence_names_the_fastest_model_by_model() -> None:
    analysis = analyse(make_run(noise_scale=0.0))
    assert (
        sentences.overall(analysis) == "onnxruntime is fastest on MLP; openvino is fastest on ResNet-50 and BERT-base."
    )


def close_run(noise_scale: float) -> Run:
    """Two arms that differ by 1 %, and others far behind."""
    slower = {"onnxruntime": 21.3 / 21.9 * 1.01}
    return make_run(models=("resnet50",), scenarios=("latency",), slower=slower, noise_scale=noise_scale)


def test_what_lies_inside_the_margin_is_equal() -> None:
    analysis = analyse(close_run(0.05))
    assert re.fullmatch(
        r"openvino and onnxruntime are equal on ResNet-50 \([01]\.\d–1\.\d %\)\.", plain(sentences.overall(analysis))
    )
    assert re.fullmatch(
        r"openvino and onnxruntime are equal on ResNet-50, batch 1: 2\d\.\d ms \(.*\) and 2\d\.\d ms \(.*\) in "
        r"these minutes; onnxruntime takes \d\.\d % \(.*\) more time than openvino; torch-compile follows with "
        r"2\d % \(.*\)\.",
        plain(sentences.verdict(analysis.timed[0])),
    )


def test_what_is_only_unknown_is_not_separated_and_has_its_interval() -> None:
    analysis = analyse(close_run(1.0))
    block = analysis.timed[0]
    other = next(row for row in block.rows if row.arm == block.also_first[0])
    assert other.ratio is not None
    said = units.slower(other.ratio)
    inside = said[said.index("(") :]
    assert sentences.overall(analysis) == f"{block.best} and {other.arm} are not separated on ResNet-50 {inside}."
    assert inside.startswith("(0–")
    assert f"; {other.arm} takes {said} more time than {block.best}; torch-compile follows with " in (
        sentences.verdict(block)
    )


def test_one_that_is_equal_and_one_that_is_not_separated_are_told_apart() -> None:
    block = analyse(close_run(0.05)).timed[0]
    rows = tuple(
        msgspec.structs.replace(row, rank=1, verdict=Verdict.INCONCLUSIVE) if row.arm == "torch-compile" else row
        for row in block.rows
    )
    block = msgspec.structs.replace(block, rows=rows, also_first=("onnxruntime", "torch-compile"))
    assert sentences.verdict(block).startswith(
        "openvino and onnxruntime are equal, openvino and torch-compile are not separated on ResNet-50, batch 1: "
    )


def test_every_output_says_the_same_words() -> None:
    run = make_run(models=("resnet50",), slower={"onnxruntime": 21.3 / 21.9 * 1.01}, scenarios=("latency", "training"))
    analysis = analyse(run)
    console = Console(file=io.StringIO(), width=160)
    terminal.show(run, analysis, console)
    assert isinstance(console.file, io.StringIO)
    stream = io.StringIO()
    write_csv(stream, COLUMNS["results"], rows("results", run, analysis))
    outputs = {
        "terminal": console.file.getvalue(),
        "page": html.render(run, analysis).partition("<script")[0].replace("\u2060", ""),
        "Markdown": card.markdown(run, analysis),
        "picture": card.svg(run, analysis),
        "CSV": stream.getvalue(),
    }
    for name, text in outputs.items():
        words = re.sub(r"\s+", " ", text)
        assert "not separated" in words, name
        assert not re.search(r"\b(ties?|tied|told apart|certainly)\b|&gt;0|\(>0", words), name
        assert "edian (95" not in words, name
        assert "median call" not in words.replace("canary’s median call", ""), name
        if name != "picture":
            assert "faster" in words, name
            assert "geometric mean" in words.lower(), name
        if name not in ("picture", "CSV"):
            assert "in these minutes" in words, name


def test_a_quantile_of_too_few_calls_is_absent_with_the_reason_in_every_output() -> None:
    run = make_run(models=("bert",), scenarios=("latency",), max_calls=3, rounds=1)
    analysis = analyse(run)
    reason = "A p90 needs 29 calls, a p99 needs 299 calls"
    console = Console(file=io.StringIO(), width=160)
    terminal.show(run, analysis, console)
    assert isinstance(console.file, io.StringIO)
    assert reason in console.file.getvalue()
    assert reason in html.render(run, analysis)
    for row in rows("results", run, analysis):
        assert (row["p90_ns"], row["p99_ns"], row["quantiles_absent"]) == (None, None, reason[:1].lower() + reason[1:])


def test_identical_arms_are_told_with_those_of_earlier_runs() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",), control="jax", noise_scale=0.0)
    assert plain(sentences.identical(analyse(run))) == (
        "Identical arms on this machine (one comparison): their ratio is 1.000, where the truth is 1; "
        "called different in 0 of 1 (95 %: 0.0–97.5 %)."
    )
    earlier = tuple(ControlDraw(f"r{n}", run.started, "jax", "a case", 1 + n / 1000, 0.9, 1.1) for n in range(5))
    told = sentences.identical(analyse(msgspec.structs.replace(run, earlier_controls=earlier)))
    assert "(6 comparisons, earlier runs included): their ratio is 1.002 (1.000–1.003)" in told
    assert sentences.identical(analyse(make_run(models=("mlp",)))) == ""


def test_a_calibration_is_cited_with_how_sure_it_is() -> None:
    run = make_run(models=("mlp",))
    assert sentences.calibrated(run) == "This machine was not calibrated before the run (nox -s calibrate)."
    known = Calibrated("2026-11-20T10:00:00Z", "onnxruntime", "resnet50", 5, 40, 1, 33, 0.02, 0.031)
    assert plain(sentences.calibrated(msgspec.structs.replace(run, calibrated=known))) == (
        "This machine was calibrated on 2026-11-20: identical arms (onnxruntime, ResNet-50) were called different in "
        "1 of 40 (95 %: 0.1–13.2 %) and shown to be the same within 2.0 % in 33; 5 launches an arm find a slowdown of "
        "3.1 % in 95 % of cases."
    )


def test_a_verdict_has_value_interval_and_lead() -> None:
    analysis = analyse(make_run(models=("resnet50",), noise_scale=0.0))
    latency, throughput = analysis.timed
    assert plain(sentences.verdict(latency)) == (
        "openvino is fastest on ResNet-50, batch 1: 21.300 ms (21.300–21.300) in these minutes, 2.8 % (2.8–2.8 %) "
        "faster than onnxruntime."
    )
    assert plain(sentences.verdict(throughput)).startswith(
        "onnxruntime has the highest throughput on ResNet-50, batch 8: 46.512"
    )


def test_where_nothing_is_ranked_parity_comes_first() -> None:
    analysis = analyse(make_run(generations=2))
    assert sentences.overall(analysis) == (
        "All 21 answers are equal to the reference. Nothing is ranked: 2 launches, and a ranking takes 5."
    )
    assert sentences.verdict(analysis.timed[0]) == "MLP, batch 1: not ranked (2 launches, and a ranking takes 5)."


def test_a_run_without_speed_says_so() -> None:
    analysis = analyse(make_run(scenarios=("memory",)))
    assert sentences.overall(analysis) == "All 21 answers are equal to the reference. No speed was measured."


def test_a_single_arm_leads_nobody() -> None:
    analysis = analyse(make_run(models=("mlp",), backends=("jax",)))
    assert sentences.verdict(analysis.timed[0]).endswith("; no other arm could be ranked.")


def test_the_place_is_told_and_why() -> None:
    assert sentences.place(make_run()) == "Measured in one pinned container per framework."
    venv = sentences.place(make_run(launcher="venv"))
    assert venv.startswith("Measured in virtual environments, not in containers: no container engine answered")
    host = sentences.place(make_run(launcher="host"))
    assert host.endswith("torch, tensorflow, jax, onnxruntime and openvino (the current interpreter's own packages).")


def test_batches_are_told_apart_only_where_there_are_several() -> None:
    run = make_run(models=("resnet50",), scenarios=("throughput",), noise_scale=0.0)
    other = msgspec.structs.replace(run.blocks[0], case=msgspec.structs.replace(run.blocks[0].case, batch=16))
    text = sentences.overall(analyse(msgspec.structs.replace(run, blocks=(run.blocks[0], other))))
    assert text == "onnxruntime is fastest on ResNet-50 (batch 8) and ResNet-50 (batch 16)."


def test_disturbed_rounds_are_said_with_what_became_of_them() -> None:
    assert sentences.disturbed(analyse(make_run(models=("mlp",)))) == ""
    repeated = analyse(make_run(models=("mlp",), scenarios=("latency",), disturbed=[1]))
    assert sentences.disturbed(repeated) == "5 of 35 rounds were disturbed from outside and are left out."
    run = make_run(models=("mlp",), scenarios=("latency",), disturbed=[0], rounds=1)
    builtins = msgspec.to_builtins(run)
    for generation in builtins["blocks"][0]["generations"][:2]:
        generation["rounds"] = generation["rounds"][:1]  # the repeat did not come to its end
    assert sentences.disturbed(analyse(msgspec.convert(builtins, Run))) == (
        "5 of 8 rounds were disturbed from outside and are left out, but for 2 whose generation had no others."
    )


def test_answers_that_were_not_compared_are_told_apart_from_wrong_ones() -> None:
    missing = Failure(stage="load", kind="unsupported", message="It is not here.")
    run = make_run(models=("mlp",), failures={("jax", "mlp"): missing}, unequal=[("torch", "mlp")])
    assert sentences.parity(analyse(run)) == ("5 of 7 answers equal the reference, 1 does not, 1 was not compared.")
    alone = make_run(models=("mlp",), backends=("jax",), failures={("jax", "mlp"): missing})
    assert sentences.parity(analyse(alone)) == "No answer was compared with the reference."


def test_settings_are_told_by_value_with_the_arms_that_have_it() -> None:
    found = settings_table.settings(make_run())
    assert ("threads", "2") in found.shared
    layout, mode = found.different
    assert (layout.name, mode.name) == ("layout", "mode")
    assert dict(layout.values) == {
        "native (MLP, BERT-base); channels_last (ResNet-50)": ("torch", "torch-compile"),
        "native": ("tensorflow", "tensorflow-xla", "jax", "onnxruntime", "openvino"),
    }


def test_a_setting_that_only_some_arms_report_is_not_shared() -> None:
    run = make_run(models=("mlp",), scenarios=("memory",), generations=1)
    generation = run.blocks[0].generations[0]
    torch = generation.launches[0]
    first = msgspec.structs.replace(torch, settings=torch.settings | {"freezing": "on"})
    generation = msgspec.structs.replace(generation, launches=(first, *generation.launches[1:]))
    block = msgspec.structs.replace(run.blocks[0], generations=(generation,))
    found = settings_table.settings(msgspec.structs.replace(run, blocks=(block,)))
    assert [(line.name, line.values) for line in found.partial] == [("freezing", (("on", ("torch",)),))]


def test_libraries_are_told_by_kind() -> None:
    run = make_run(models=("mlp",), scenarios=("memory",))
    assert settings_table.libraries(run).shared == (("OpenMP", "libgomp.so.1"),)
    assert dict(settings_table.library_paths(run))["jax"][0].startswith("/opt/env/lib/jax/")


def test_absences_of_one_reason_stand_together() -> None:
    missing = Absent("the kernel shows no frequency control")
    (group,) = machine.groups(
        {"cpu": {"model": "X", "governor": missing, "boost": missing, "SMT": False, "l3 bytes": 1024}}
    )
    assert group.title == "CPU"
    assert [(line.name, plain(line.value)) for line in group.lines] == [
        ("model", "X"),
        ("SMT", "no"),
        ("l3", "1.00 KiB"),
        ("governor, boost", "not known: the kernel shows no frequency control"),
    ]


def test_essentials_are_what_is_there() -> None:
    found = {line.name: line.value for line in machine.essentials(make_machine())}
    assert found["processor"] == "AMD EPYC 9R45"
    assert found["kernel"] == "6.1.0-37-amd64"
    assert "GPU" not in found


def test_parity_is_a_table_of_arms_by_models() -> None:
    crash = Failure(stage="load", kind="crashed", message="It ended.")
    run = make_run(failures={("jax", "mlp"): crash}, unequal=[("torch", "bert")])
    found = parity.table(analyse(run))
    assert found.columns == (("mlp", "fp32"), ("resnet50", "fp32"), ("bert", "fp32"))
    lines = {line.arm: line.parities for line in found.lines}
    assert lines["jax"][0] is None
    assert lines["torch"][2] is not None
    assert not lines["torch"][2].equal
    assert found.tolerances == (1e-5, 1e-5, 1e-5)


@pytest.mark.parametrize("backend", ["torch", "onnxruntime", "unknown", 'x" onload="alert(1)', ""])
def test_a_colour_is_one_of_a_fixed_set(backend: str) -> None:
    assert names.colour(backend) == names.colour(backend)
    assert set(names.colour(backend)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_an_anchor_is_made_of_harmless_signs() -> None:
    assert names.anchor("Model", '"><b>') == "model-b"
    assert names.anchor("<>") == "section"


def test_every_scenario_has_a_name() -> None:
    assert all(names.scenario(scenario) != scenario for scenario in scenarios.NAMES)


def test_the_command_to_run_it_again_is_one_that_the_tool_takes() -> None:
    words = shlex.split(rerun.command(make_run(control="jax", precision_target=0.005)))
    assert words[:2] == ["levelfield", "bench"]
    parsed = bench.make_context("bench", words[2:]).params
    assert parsed["profile"] == "standard"
    assert parsed["models"] == ("mlp", "resnet50", "bert")
    assert parsed["scenarios"] == ("latency", "throughput", "cold-start", "memory")
    assert parsed["threads"] == (2,)
    assert parsed["control"] == "jax"
    assert parsed["budget"] == 600
    assert parsed["precision_target"] == pytest.approx(0.005)
    assert parsed["margin"] == pytest.approx(0.02)
    assert parsed["seed"] == 1
    assert parsed["launcher"] == "docker"
    assert parsed["variant"] == "cpu", "a machine with a GPU would take it otherwise"
    assert parsed["gpu"] is None


def test_a_run_on_a_gpu_asks_for_that_gpu_again() -> None:
    run = make_run()
    settings = msgspec.structs.replace(run.settings, gpu=1, backends=("torch@cu13", "jax@cuda"), launcher="host")
    words = shlex.split(rerun.command(msgspec.structs.replace(run, settings=settings)))
    parsed = bench.make_context("bench", words[2:]).params
    assert parsed["gpu"] == "1"
    assert parsed["variant"] == "auto"
    assert parsed["backends"] == ("torch@cu13", "jax"), "cuda stands for what the host had"


def test_of_gpus_the_one_that_was_used_is_essential() -> None:
    facts: Fingerprint = make_machine()
    facts["gpu"] = {"device 0 name": "Tesla T4", "device 1 name": "NVIDIA H100", "driver": "595.58"}
    assert {line.name: line.value for line in machine.essentials(facts, 1)}["GPU"] == "NVIDIA H100"
    assert "GPU" not in {line.name for line in machine.essentials(facts)}


def test_what_was_injected_is_injected_again() -> None:
    run = make_run(models=("mlp",), backends=("jax",), scenarios=("latency",), generations=1)
    block = msgspec.structs.replace(run.blocks[0], arms=(Arm(backend="jax", image="jax", ordinal=2, inject="5%"),))
    words = shlex.split(rerun.command(msgspec.structs.replace(run, blocks=(block,))))
    assert words[words.index("--inject") + 1] == "5%@jax#2"
    bench.make_context("bench", words[2:])


def test_a_command_with_odd_words_stays_one_command() -> None:
    run = msgspec.structs.replace(make_run(), command=("levelfield", "bench", "--models", "a; rm -rf x"))
    assert shlex.split(rerun.as_typed(run)) == list(run.command)


def test_a_lead_without_an_interval_is_told_plainly() -> None:
    assert plain(units.slower(Estimate(1.5))) == "50 %"
