"""Synthetic records for tests: the shape of a real run, with seeded noise of the size measured on a real machine.

The levels are rough, the numbers mean nothing, and no figure from here belongs in a document.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

import msgspec
import numpy as np

from levelfield.backends.precisions import why_not
from levelfield.plan import Plan
from levelfield.record import files
from levelfield.record.disturbance import Disturbed, Reason
from levelfield.record.schema import (
    SCHEMA,
    Absent,
    Arm,
    Artifact,
    Block,
    Case,
    Computed,
    Convergence,
    Evaluation,
    Failure,
    Fingerprint,
    Generation,
    Image,
    Launch,
    Library,
    LoadGenLaunch,
    LoadGenTest,
    Memory,
    Noise,
    Parity,
    Roofline,
    Round,
    Run,
    Settings,
    Startup,
    TrainingErrors,
    TrainingParity,
    Turn,
    Warning_,
    Window,
)
from levelfield.scenarios import ScenarioName
from levelfield.zoo import flops
from levelfield.zoo import models as zoo

BACKENDS = ("torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax", "onnxruntime", "openvino")
MODELS = ("mlp", "resnet50", "bert")
IMAGES = {
    "torch": "torch", "torch-compile": "torch", "tensorflow": "tensorflow", "tensorflow-xla": "tensorflow",
    "jax": "jax", "onnxruntime": "onnxruntime", "openvino": "openvino",
}  # fmt: skip
VERSIONS = {
    "torch": "2.13.0+cpu", "tensorflow": "2.21.0", "jax": "0.10.1", "onnxruntime": "1.31.1", "openvino": "2026.4.1",
}  # fmt: skip
MODES = {
    "torch": "eager", "torch-compile": "torch.compile, inductor, static shapes",
    "tensorflow": "tf.function, concrete", "tensorflow-xla": "tf.function, jit_compile",
    "jax": "jit, compiled ahead of time", "onnxruntime": "ORT_SEQUENTIAL", "openvino": "synchronous, one request",
}  # fmt: skip
CANARY = "numpy"

LEVELS_MS: dict[tuple[str, int], tuple[float, ...]] = {
    ("mlp", 1): (0.031, 0.024, 0.095, 0.088, 0.042, 0.0092, 0.0135),
    ("mlp", 1000): (0.5, 0.49, 0.65, 0.6, 0.47, 0.3, 0.2),
    ("resnet50", 1): (47, 26, 30, 29, 44, 21.9, 21.3),
    ("resnet50", 8): (281, 194, 205, 222, 430, 172, 180),
    ("bert", 1): (150, 147, 80, 79, 80, 80.4, 69),
    ("bert", 8): (1100, 1000, 550, 521, 510, 555, 490),
}
"""Typical times of a call, in the order of `BACKENDS`."""

SPEEDS = {"fp32": 1.0, "bf16": 0.5, "int8": 0.4}
"""Time of a call relative to fp32."""
SCALING = 0.9
"""Twice the threads, or processes, are 2^0.9 = 1.87 times as fast."""
ERRORS = {"fp32": 1e-7, "bf16": 1.5e-3, "int8": 1e-2}
TOLERANCES = {"fp32": 1e-5, "bf16": 3e-2, "int8": 2e-1}
TRAINED = 1.9e-6
"""Of losses; little less than 32 × 2⁻²⁴, to which the MLP's and BERT's fp32 training is held."""

BATCHES = {"mlp": 1000, "resnet50": 8, "bert": 8}
CONVERGING = ("mlp", "resnet50")
READERS = ("onnxruntime", "openvino")
"""They read a finished model, and cannot train."""
ROOFLINE = Roofline(
    threads=2,
    gemm_size=2048,
    gemm_ns=(57_000_000, 55_000_000, 54_000_000),
    array_bytes=128 * 2**20,
    copy_ns=(11_000_000, 10_000_000, 9_000_000),
    add_ns=(17_000_000, 16_000_000, 15_500_000),
    blas_threads="2",
    last_cache_bytes=32 * 2**20,
)
"""312 GFLOP/s and 26.8 GB/s."""
LAUNCH_SD = 0.009
WINDOW_SD = 0.024
DRIFT_SD = 0.044


def make_run(
    *,
    seed: int = 1,
    models: Iterable[str] = MODELS,
    backends: Iterable[str] = BACKENDS,
    scenarios: Iterable[str] = ("latency", "throughput", "cold-start", "memory"),
    generations: int = 5,
    rounds: int = 6,
    window_seconds: float = 0.4,
    max_calls: int = 200,
    slower: Mapping[str, float] | None = None,
    failures: Mapping[tuple[str, str], Failure] | None = None,
    unequal: Iterable[tuple[str, str]] = (),
    disturbed: Iterable[int] = (),
    control: str | None = None,
    launcher: Literal["docker", "venv", "host"] = "docker",
    warnings: tuple[Warning_, ...] = (),
    labels: tuple[str, ...] = (),
    finished: bool = True,
    noise_scale: float = 1.0,
    supervisor_window_share: float | Absent = 0.0021,
    precision_target: float | None = None,
    roofline: tuple[Roofline, ...] | Absent = (ROOFLINE,),
    precisions: Iterable[str] = ("fp32",),
    threads: Iterable[int] = (2,),
    processes: Iterable[int] = (1,),
) -> Run:
    """Make a record.

    Parameters
    ----------
    slower
        Backend to factor on its level.
    failures
        (backend, model) to the failure that all its launches end with.
    unequal
        (backend, model) pairs whose output is over the tolerance.
    disturbed
        Indices of rounds marked as disturbed, in every generation; each is followed by its undisturbed repeat.
    control
        Backend that stands a second time in every block.
    max_calls
        Most timed calls in one window.
    noise_scale
        Factor on all standard deviations; 0 gives an exact record.
    precisions, threads, processes
        Each a case of its own; who does not compute in a precision on a CPU is absent from it.
    """
    maker = _Maker(
        rng=np.random.default_rng(seed), rounds=rounds, window_ns=int(window_seconds * 1e9), max_calls=max_calls,
        slower=dict(slower or {}), failures=dict(failures or {}), unequal=frozenset(unequal),
        disturbed=frozenset(disturbed), noise_scale=noise_scale,
    )  # fmt: skip
    arms = [Arm(backend=name, image=IMAGES[name]) for name in backends]
    if control is not None:
        arms.append(Arm(backend=control, image=IMAGES[control], ordinal=2))
    chosen: tuple[ScenarioName, ...] = tuple(name for name in get_args(ScenarioName) if name in set(scenarios))
    models, precisions, threads, processes = tuple(models), tuple(precisions), tuple(threads), tuple(processes)
    blocks = tuple(
        maker.block(
            Case(
                model=model,
                scenario=scenario,
                precision=precision,
                batch=make_batch(model, scenario),
                threads=count,
                processes=number,
            ),
            tuple(arm for arm in arms if scenario not in ("training", "convergence") or arm.backend not in READERS),
            generations,
        )
        for model in models
        for scenario in chosen
        if scenario != "convergence" or model in CONVERGING
        for precision in precisions
        for count in threads
        for number in (processes if scenario == "training" else (1,))
    )
    return Run(
        schema=SCHEMA,
        id="20261121-101500-standard",
        started="2026-11-21T10:15:00Z",
        finished=_ended(blocks) if finished else None,
        tool_version="0.1.0",
        tool_sha256=_sha("tool"),
        command=("levelfield", "bench", "--profile", "standard"),
        settings=Settings(
            profile="standard",
            models=models,
            backends=tuple(backends),
            scenarios=chosen,
            precisions=precisions,
            batches={model: (BATCHES[model],) for model in models},
            training_batches={model: (BATCHES[model],) for model in models if "training" in scenarios},
            threads=max(threads),
            thread_counts=threads if len(threads) > 1 else (),
            process_counts=processes if max(processes) > 1 else (),
            cpus=tuple(range(max(threads) * max(processes))),
            generations=generations,
            rounds=rounds,
            budget_seconds=600.0,
            precision_target=precision_target,
            margin=0.02,
            seed=seed,
            launcher=launcher,
            launcher_reason=""
            if launcher == "docker"
            else "no container engine answered at unix:///var/run/docker.sock",
            worker_memory_bytes=12 * 2**30,
        ),
        machine=make_machine(),
        images=tuple(make_image(name, launcher) for name in dict.fromkeys(arm.image for arm in arms)),
        artifacts=tuple(
            Artifact(
                name=f"{model}-fp32-b{batch}.onnx",
                sha256=_sha(f"{model}{batch}"),
                size_bytes=102_400_000,
                made_by={"torch": "2.13.0+cpu", "onnxscript": "0.7.2", "opset": "20"},
            )
            for model in models
            for batch in (1, BATCHES[model])
        ),
        blocks=blocks,
        warnings=warnings,
        supervisor_window_share=supervisor_window_share,
        labels=labels,
        work=tuple(
            flops.count(zoo.get(model), batch) for model in models if model in MODELS for batch in (1, BATCHES[model])
        ),
        roofline=roofline,
        time_spent_s=_time_spent_s(blocks),
    )


def kept(run: Run, folder: Path) -> Path:
    """Write a run's record into a folder that may be new; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    return files.write(run, folder)


def of_plan(made: Plan) -> Run:
    """Make the record of a run that has just begun with a plan."""
    run = make_run(models=("mlp",), scenarios=("memory",), generations=1)
    settings = msgspec.structs.replace(
        run.settings, profile=made.profile.name, models=made.models, backends=made.backends, scenarios=made.scenarios,
        precisions=made.precisions, batches=made.batches, training_batches=made.training_batches,
        threads=max(made.threads), thread_counts=made.threads if len(made.threads) > 1 else (), cpus=made.cpus,
        cpus_requested=made.cpus_requested, generations=made.profile.generations, rounds=made.profile.rounds,
    )  # fmt: skip
    return msgspec.structs.replace(run, settings=settings, blocks=made.blocks)


def _windows_ns(blocks: Iterable[Block]) -> int:
    return sum(
        turn.window.window_ns
        for block in blocks
        for turn in turns_of(block)
        if turn.window is not None and turn.arm != block.canary
    )


def _ended(blocks: Iterable[Block]) -> str:
    """When its windows are over: after nine minutes and twelve seconds, or more."""
    lasted_s = max(552, 2 * _windows_ns(blocks) // 10**9)
    return max(_after(lasted_s), *(launch.started for launch in launches_of(*blocks)))


def _after(seconds: int) -> str:
    return f"{datetime(2026, 11, 21, 10, 15) + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"  # noqa: DTZ001


def _time_spent_s(blocks: Iterable[Block]) -> dict[str, float]:
    """What a run with these windows could have spent its time on."""
    windows_ns = _windows_ns(blocks)
    return {"preparing": 4.5, "loading": 151.25, "verifying": 20.5, "windows": 1.25 * windows_ns / 1e9, "other": 1.5}


def make_batch(model: str, scenario: str) -> int:
    if scenario == "convergence":
        return 64
    return BATCHES[model] if scenario in ("throughput", "training", "data-pipeline", "loadgen-offline") else 1


@dataclass(kw_only=True)
class _Maker:
    rng: np.random.Generator
    rounds: int
    window_ns: int
    max_calls: int
    slower: dict[str, float]
    failures: dict[tuple[str, str], Failure]
    unequal: frozenset[tuple[str, str]]
    disturbed: frozenset[int]
    noise_scale: float
    ticks: int = 0
    windows_ns: int = 0

    def block(self, case: Case, arms: tuple[Arm, ...], generations: int) -> Block:
        timed = case.timed
        return Block(
            case=case,
            arms=arms,
            planned_generations=generations,
            generations=tuple(self.generation(case, arms, index) for index in range(generations)),
            canary=CANARY if timed else None,
        )

    def generation(self, case: Case, arms: tuple[Arm, ...], index: int) -> Generation:
        launches = [self.launch(case, arm, index) for arm in arms]
        if not case.timed:
            return Generation(index=index, seed=index, launches=tuple(launches), complete=True)
        launches.append(Launch(arm=CANARY, started=self.tick(), framework_version="2.4.6"))
        alive = [arm for arm in arms if self.failure(case, arm) is None]
        level = {arm.id: self.level_ns(case, arm) * self.jitter(LAUNCH_SD) for arm in alive}
        level[CANARY] = 4.0e6 * self.jitter(LAUNCH_SD)
        rounds: list[Round] = []
        for number in range(self.rounds):
            if number in self.disturbed:
                rounds.append(self.round(len(rounds), level, factor=1.6, disturbed=(Reason("steal", 0.092, 0.02),)))
                rounds.append(self.round(len(rounds), level, repeats=1))
            else:
                rounds.append(self.round(len(rounds), level))
        return Generation(index=index, seed=index, launches=tuple(launches), rounds=tuple(rounds), complete=True)

    def round(
        self, index: int, level: dict[str, float], *, factor: float = 1.0, disturbed: Disturbed = (), repeats: int = 0
    ) -> Round:
        drift = self.jitter(DRIFT_SD) * factor
        order = [str(arm) for arm in self.rng.permutation(list(level))]
        return Round(
            index=index,
            turns=tuple(
                Turn(
                    arm=arm,
                    window=self.window(level[arm] * drift * self.jitter(WINDOW_SD)),
                    noise=make_noise(self.window_ns, steal=0.09 if disturbed else 0.001),
                )
                for arm in order
            ),
            disturbed=disturbed,
            repeats=repeats,
        )

    def window(self, typical_ns: float) -> Window:
        calls = int(min(max(self.window_ns // typical_ns, 3), self.max_calls))
        tail = self.rng.exponential(0.02 * self.noise_scale, calls) if self.noise_scale else np.zeros(calls)
        samples = (typical_ns * (0.987 + tail if self.noise_scale else 1.0 + tail)).astype(np.int64)
        window_ns = int(samples.sum()) + 200 * calls
        self.windows_ns += window_ns
        return Window(
            rewarm_ns=(int(typical_ns * 1.2), int(typical_ns * 1.05)),
            samples_ns=tuple(int(value) for value in samples), window_ns=window_ns, user_ns=int(window_ns * 1.88),
            system_ns=int(window_ns * 0.04), voluntary_switches=4 * calls, involuntary_switches=2, minor_faults=3,
            major_faults=0,
        )  # fmt: skip

    def launch(self, case: Case, arm: Arm, index: int) -> Launch:
        failure = self.failure(case, arm)
        if failure is not None:
            return Launch(arm=arm.id, started=self.tick(), failure=failure)
        place = BACKENDS.index(arm.backend)
        unequal = (arm.backend, case.model) in self.unequal
        error = 4.6e-2 if unequal else (3 + place) * ERRORS[case.precision]
        return Launch(
            arm=arm.id,
            started=self.tick(),
            startup=Startup(
                start_ns=int(0.5e9 * self.jitter(0.05)),
                import_ns=int((1.0, 1.0, 2.2, 2.2, 0.5, 0.1, 0.2)[place] * 1e9 * self.jitter(0.04)),
                weights_ns=int(0.3e9),
                load_ns=int((0.2, 16.0, 0.8, 3.1, 1.9, 0.4, 0.7)[place] * 1e9 * self.jitter(0.05)),
                first_call_ns=int(self.level_ns(case, arm) * 3),
            ),
            weights_sha256=_sha(case.model),
            inputs_sha256=_sha(f"{case.model} inputs"),
            onnx_sha256=_sha(f"{case.model}{case.batch}") if arm.backend in ("onnxruntime", "openvino") else "",
            framework_version=VERSIONS[IMAGES[arm.backend]],
            settings={
                "threads": str(case.threads),
                "precision": case.precision,
                "layout": "channels_last" if case.model == "resnet50" and arm.backend.startswith("torch") else "native",
                "flush_denormals": "off",
                "mode": MODES[arm.backend],
            },
            parity=Parity(
                equal=not unequal,
                relative_error=error,
                centred_error=Absent("a training has no inputs to take the mean over") if case.learns else error * 3,
                max_abs_error=error * 10,
                tolerance=TRAINED if case.learns and case.precision == "fp32" else TOLERANCES[case.precision],
                inputs=8,
                projection=tuple(float(value) for value in self.rng.standard_normal(64).round(6)),
                output_sha256=_sha(
                    f"{msgspec.structs.replace(arm, ordinal=1).id}{case.model}"
                ),  # a control answers alike
                reason="relative error 4.6e-02 is over 1e-05" if unequal else "",
                cosine=1 - error**2 / 2,
                top_1=0.875 if case.precision == "int8" else Absent("its output is no vector of classes"),
                computed_in="" if case.trains else case.precision,
                training=make_training(error) if case.trains or case.converges else None,
            ),
            computed=Computed(
                {case.precision: 52, "fp32": 2} if case.precision != "fp32" else {"fp32": 54}, "its graph"
            ),
            memory=Memory(
                peak_rss_bytes=int((0.6, 0.9, 1.1, 1.2, 0.7, 0.3, 0.4)[place] * 2**30 * self.jitter(0.02)),
                rss_bytes=int(0.2 * 2**30),
                source="cgroup",
            ),
            libraries=(
                Library(name="libgomp.so.1", path="/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0", kind="OpenMP"),
                Library(name=f"lib{arm.backend}.so", path=f"/opt/env/lib/{arm.backend}/lib.so", kind="oneDNN"),
            ),
            environment={"OMP_NUM_THREADS": str(case.threads), "PYTHONHASHSEED": "0"},
            cache_warm=case.scenario != "cold-start" and index > 0,
            convergence=self.convergence(case, arm, index) if case.converges else None,
            loadgen=self.loadgen(case, arm) if case.definition.driven else None,
        )

    def loadgen(self, case: Case, arm: Arm) -> LoadGenLaunch:
        """Percentiles are 2 % over those of this tool's own windows; Server breaks down at 80 % of its capacity."""
        level_ns = self.level_ns(case, arm) * self.jitter(LAUNCH_SD)
        own = tuple(self.window(level_ns * self.jitter(WINDOW_SD)) for _ in range(4))
        plain = LoadGenTest(
            valid=True, why_invalid="", queries=100, samples=100 * case.batch,
            percentiles_ns={"50.00": int(level_ns), "90.00": int(1.05 * level_ns), "99.00": int(1.1 * level_ns)},
            per_second=1e9 * case.batch / level_ns, elapsed_ns=int(max(1e9, 200 * level_ns)),
            summary="MLPerf Results Summary\nResult is : VALID",
        )  # fmt: skip
        tests: tuple[LoadGenTest, ...] = (plain,)
        match case.definition.driven_as:
            case "SingleStream":
                tests = tuple(
                    msgspec.structs.replace(
                        plain,
                        percentiles_ns={
                            "90.00": int(1.02 * sorted(window.samples_ns)[int(0.9 * len(window.samples_ns))])
                        },
                    )
                    for window in own
                )
            case "Server":
                tests = tuple(self.at_rate(plain, level_ns, share) for share in (0.3, 0.5, 0.7, 0.85, 0.77, 0.81))
        return LoadGenLaunch(
            version="6.0.17 @ d6147c7eb7", scenario=case.definition.driven_as or "SingleStream",
            settings={"min_duration_ms": 1000.0, "performance_sample_count_override": 4.0},
            rules={"min_duration_ms": 600_000.0, "performance_sample_count_override": 1024.0}, tests=tests,
            own=own if len(tests) == 4 else own[:1],
            target_ns=int(8 * level_ns) if case.definition.driven_as == "Server" else None, detail=":::MLLOG {}",
            noise=make_noise(self.window_ns, steal=0.001),
        )  # fmt: skip

    def at_rate(self, plain: LoadGenTest, level_ns: float, share: float) -> LoadGenTest:
        held = share < 0.8
        p99 = level_ns * (1 + 1 / (1 - share)) if held else 30 * level_ns
        return msgspec.structs.replace(
            plain, valid=held, why_invalid="" if held else "the latency target was not held",
            percentiles_ns={"50.00": int(level_ns), "99.00": int(p99)}, offered_per_second=share * 1e9 / level_ns,
            late=0 if held else 40, not_served=0 if held else 3,
        )  # fmt: skip

    def convergence(self, case: Case, arm: Arm, index: int) -> Convergence:
        """Every seed of every arm is there after as many steps: 90, 100, 110, 120, 90, …; accuracy grows evenly."""
        there = 90 + 10 * (index % 4)
        step_ns = 3e6 * LEVELS_MS["mlp", 1000][BACKENDS.index(arm.backend)] * self.slower.get(arm.backend, 1.0)
        step_ns *= self.jitter(LAUNCH_SD)
        return Convergence(
            network=f"digits_{case.model}",
            seed=index,
            target=0.97,
            limit=300,
            points=tuple(
                Evaluation(
                    step=step,
                    elapsed_ns=int(step * step_ns),
                    loss=2.3 / step,
                    accuracy=min(0.9875, 0.97 * step / there),
                )
                for step in range(10, 310, 10)
            ),
            weights_sha256=_sha(f"{case.model} begin {index}"),
            inputs_sha256=_sha(f"{case.model} order {index}"),
            noise=make_noise(self.window_ns, steal=0.001),
        )

    def failure(self, case: Case, arm: Arm) -> Failure | None:
        reason = why_not(arm.backend, case.precision, case.device)
        if reason:
            return Failure(stage="load", kind="unsupported", message=reason)
        return self.failures.get((arm.backend, case.model))

    def level_ns(self, case: Case, arm: Arm) -> float:
        levels = LEVELS_MS[case.model, 1 if case.converges else case.batch]
        steps = 3.0 if case.trains else 1.0  # forward, and about twice as much back
        level = steps * levels[BACKENDS.index(arm.backend)] * 1e6 * self.slower.get(arm.backend, 1.0)
        return level * SPEEDS[case.precision] * float((2 / case.threads / case.processes) ** SCALING)

    def jitter(self, sd: float) -> float:
        return float(np.exp(self.rng.normal(0.0, sd * self.noise_scale))) if self.noise_scale else 1.0

    def tick(self) -> str:
        """Return the time of another launch: a second after the one before it, and its windows."""
        self.ticks += 1
        return _after(min(self.ticks, 540) + self.windows_ns // 10**9)


def make_training(error: float) -> TrainingParity:
    """Ten losses that fall, off by `error`."""
    reference = tuple(7.0 * 0.9**step for step in range(10))
    known = Absent("the model has no running statistics")
    return TrainingParity(
        batch=4,
        losses=tuple(loss * (1 + error) for loss in reference),
        reference=reference,
        errors=TrainingErrors(losses=error, gradients=2 * error, weights=3 * error, statistics=known, update=error / 2),
        tolerances=TrainingErrors(TRAINED, TRAINED, 3e-5, statistics=known, update=TRAINED),
    )


def make_noise(elapsed_ns: int, *, steal: float = 0.0) -> Noise:
    """What the machine did; `steal` is a share of one core's time."""
    return Noise(
        elapsed_ns=elapsed_ns,
        steal_ns=int(steal * elapsed_ns),
        pressure_ns=elapsed_ns // 200,
        others_ns=elapsed_ns // 150,
        supervisor_ns=elapsed_ns // 500,
        idle_workers_ns=elapsed_ns // 1000,
        context_switches=420,
        major_faults=0,
        swapped_pages=0,
    )


def make_machine() -> Fingerprint:
    return {
        "cpu": {
            "model": "AMD EPYC 9R45", "cores": 2, "threads": 2, "l3_cache_bytes": 33_554_432,
            "flags": "avx2 avx512f avx512_bf16 fma", "microcode": "0xb002151",
            "governor": Absent("the hypervisor shows no cpufreq"),
        },
        "memory": {"total bytes": 25_769_803_776, "numa_nodes": 1, "transparent_hugepages": "madvise"},
        "kernel": {"release": "6.1.0-37-amd64", "boot_parameters": "quiet"},
        "system": {"distribution": "Debian GNU/Linux 12 (bookworm)", "virtualisation": "kvm"},
        "engine": {"name": "docker", "version": "20.10.24", "cgroup": 1},
    }  # fmt: skip


def turns_of(*blocks: Block) -> Iterator[Turn]:
    return (turn for block in blocks for each in block.generations for one in each.rounds for turn in one.turns)


def launches_of(*blocks: Block) -> Iterator[Launch]:
    return (launch for block in blocks for generation in block.generations for launch in generation.launches)


def with_generations(run: Run, change: Callable[[Generation], Generation]) -> Run:
    """Change every generation of every block."""
    blocks = (msgspec.structs.replace(block, generations=tuple(map(change, block.generations))) for block in run.blocks)
    return msgspec.structs.replace(run, blocks=tuple(blocks))


def with_launches(run: Run, change: Callable[[Launch], Launch], arm: str = "") -> Run:
    """Change every launch, or those of one arm."""

    def changed(generation: Generation) -> Generation:
        launches = (change(each) if arm in {"", each.arm} else each for each in generation.launches)
        return msgspec.structs.replace(generation, launches=tuple(launches))

    return with_generations(run, changed)


def with_turns(run: Run, change: Callable[[Turn], Turn], arm: str = "") -> Run:
    """Change every turn, or those of one arm."""

    def in_round(each: Round) -> Round:
        turns = (change(turn) if arm in {"", turn.arm} else turn for turn in each.turns)
        return msgspec.structs.replace(each, turns=tuple(turns))

    def changed(generation: Generation) -> Generation:
        return msgspec.structs.replace(generation, rounds=tuple(map(in_round, generation.rounds)))

    return with_generations(run, changed)


def slower(turn: Turn, factor: float) -> Turn:
    """Let every call of a turn's window take so many times as long."""
    if turn.window is None:
        return turn
    window = msgspec.structs.replace(
        turn.window,
        samples_ns=tuple(round(factor * each) for each in turn.window.samples_ns),
        window_ns=round(factor * turn.window.window_ns),
    )
    return msgspec.structs.replace(turn, window=window)


def make_image(name: str, launcher: Literal["docker", "venv", "host"]) -> Image:
    docker = launcher == "docker"
    return Image(
        name=name,
        variant="cpu",
        launcher=launcher,
        tag=f"levelfield/{name}:{_sha(name)[:16]}" if docker else "",
        image_id=f"sha256:{_sha(name + ' id')}" if docker else "",
        layers=tuple(f"sha256:{_sha(f'{name} layer {index}')}" for index in range(3)) if docker else (),
        lock_sha256=_sha(f"{name} lock"),
        base=f"debian-bookworm-mmdebstrap sha256:{_sha('base')}" if docker else "",
        recipe_sha256=_sha("recipe"),
        worker_sha256=_sha("worker"),
        python="3.11.2",
        distributions={"numpy": "2.4.6", "msgspec": "0.22.0", name: VERSIONS[name]}
        | {f"{name}-dependency-{index}": f"1.{index}.0" for index in range(25)},
        size_bytes=970_000_000 if docker else Absent("not an image"),
        unlocked="the current interpreter's own packages" if launcher == "host" else "",
    )


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
