"""The backends there are, as plain data: no framework is imported until one is created.

Those of plug-ins stand beside the built-in ones (docs/plugins.md); they are looked for when a name is asked for that no
built-in one has, or all names are.
"""

import difflib
import functools
import importlib
import re
from typing import Any, cast

import msgspec

from levelfield import plugins
from levelfield.backends.info import FP32, ONNX, BackendInfo, Way
from levelfield.backends.protocol import Backend, Options
from levelfield.plugins import Broken, Plugin, PluginError

CANARY = "canary"

_TF32 = Way("tensors in fp32, products and convolutions in TF32")
_STORED = Way("weights and activations stored in bf16, sums inside products in fp32")
_STORED_FP16 = Way("weights and activations stored in fp16")
_FP16_FILE = Way("the ONNX file's own tensors in fp16", file="fp16")
_OWN_HALVES = Way("as the file of one's own says, its tensors in 16 bits", own=True)
_OWN_FOUR_BITS = Way("as the file of one's own says, its weights in four bits", own=True)
_QDQ = Way("post-training static quantisation, 8-bit products and convolutions", file="int8")
# Which of the ways on CUDA were seen on a GPU, `backends.cuda` says.
_AUTOCAST = Way("weights and update in fp32; torch.autocast chooses what is computed in bf16")
_AUTOCAST_FP16 = Way("weights and update in fp32; torch.autocast chooses what is computed in fp16, with a loss scale")
_CASTING = Way(
    "weights and update in fp32; weights and inputs cast to bf16 in every step, normalisation and loss in fp32"
)
_CASTING_FP16 = Way(
    "weights and update in fp32; weights and inputs cast to fp16 in every step, normalisation and loss in fp32, with a "
    "loss scale"
)
_MIXED = {"cpu": {"bf16": _CASTING}, "cuda": {"bf16": _CASTING, "fp16": _CASTING_FP16}}
_NATIVE = {
    "cpu": {"fp32": FP32, "bf16": _STORED},
    "cuda": {"fp32": FP32, "tf32": _TF32, "bf16": _STORED, "fp16": _STORED_FP16},
}
_CAST: dict[str, tuple[str, ...]] = {"cast": ("stored", "autocast")}
"""How torch computes in bf16 and fp16: weights stored in it, or cast in every call. No effect in other precisions."""
_FROZEN: dict[str, tuple[str, ...]] = {"frozen": ("on", "off")}
"""Whether the compiler may prepare what follows from the weights alone. In training, where they change, nothing is."""
_EAGER: dict[str, tuple[str, ...]] = {"frozen": ("off", "on"), "linear": ("aten", "onednn")}
"""Eager mode prepares nothing. `frozen=on` traces and freezes the module; `linear=onednn` packs the weights of linear
layers for oneDNN, where ATen would choose the library."""
_SEARCH: dict[str, tuple[str, ...]] = {"search": ("on", "off")}
"""Whether cuDNN tries its algorithms for each convolution and keeps the fastest. No effect on a CPU."""
_GRAPHS: dict[str, tuple[str, ...]] = {"graphs": ("off", "on")}
"""Whether inductor records the kernels of a call in a CUDA graph, and replays it. No effect on a CPU."""

_XLA_STATIC = "XLA compiles for fixed shapes, and would compile again at every step for a cache one token longer"

_TORCH = BackendInfo(
    name="torch",
    title="PyTorch",
    class_name="Torch",
    image="torch",
    reads="native",
    distribution="torch",
    imports=("torch",),
    layout="NHWC",
    ways=_NATIVE,
    trains=True,
    mixed={"cpu": {"bf16": _AUTOCAST}, "cuda": {"bf16": _AUTOCAST, "fp16": _AUTOCAST_FP16}},
    decodes=("cpu", "cuda"),
    why_not={
        ("cpu", "int8"): (
            "PyTorch's static quantisation (torch.ao.quantization) is deprecated for torchao, which is not locked here"
        )
    },
    process_bytes=1024 << 20,
    says_by_operators=True,
    feed="torch_loader",
    profiler="torch.profile",
    settings=_CAST | _EAGER | _SEARCH,
    instead_of_mkl="linear=onednn",
    control_rank=3,
    colours=("#cf4a0c", "#ff8a50"),
)
_TENSORFLOW = BackendInfo(
    name="tensorflow",
    title="TensorFlow",
    class_name="TensorFlow",
    image="tensorflow",
    reads="native",
    distribution="tensorflow-cpu",
    imports=("tensorflow",),
    layout="NHWC",
    ways=_NATIVE,
    trains=True,
    mixed=_MIXED,
    decodes=("cpu",),
    why_static="its definition is traced for fixed shapes",
    why_not={
        ("cpu", "int8"): "TensorFlow quantises after training for LiteRT (TensorFlow Lite), which is another runtime"
    },
    feed="tf_data",
    profiler="xplane.profile_tensorflow",
    settings=_FROZEN,
    colours=("#1565b0", "#6aa9f0"),
)
_KERAS = BackendInfo(
    name="keras-torch",
    title="Keras on PyTorch",
    class_name="KerasTorch",
    file="keras",
    image="keras-torch",
    reads="native",
    distribution="keras",
    imports=("keras", "torch"),
    layout="NHWC",
    ways={"cpu": {"fp32": FP32}},
    by_default=False,
    sized=False,
    trains=True,
    wraps="torch",
    profiler="torch.profile",
    colours=("#8d2f23", "#e08a7d"),
)
_BUILT_IN = {
    info.name: info
    for info in (
        _TORCH,
        msgspec.structs.replace(
            _TORCH,
            name="torch-compile",
            title="PyTorch, compiled",
            class_name="TorchCompile",
            why_not={
                ("cpu", "int8"): (
                    "quantisation for torch.compile has left PyTorch for torchao, which is not locked here"
                )
            },
            process_bytes=1280 << 20,
            settings=_CAST | _FROZEN | _SEARCH | _GRAPHS,
            instead_of_mkl="",
            control_rank=None,
            colours=("#a86f00", "#e3ae3f"),
        ),
        _TENSORFLOW,
        msgspec.structs.replace(
            _TENSORFLOW,
            name="tensorflow-xla",
            title="TensorFlow, XLA",
            class_name="TensorFlowXLA",
            file="tensorflow",
            why_static=_XLA_STATIC,
            colours=("#2f8fc4", "#6fc8f2"),
        ),
        BackendInfo(
            name="jax",
            title="JAX",
            class_name="JAX",
            image="jax",
            reads="native",
            distribution="jax",
            imports=("jax",),
            layout="NHWC",
            ways=_NATIVE,
            trains=True,
            mixed=_MIXED,
            decodes=("cpu", "cuda"),
            why_static=_XLA_STATIC,
            why_not={("cpu", "int8"): "JAX has no static quantisation after training of its own"},
            process_bytes=1280 << 20,
            profiler="xplane.profile_jax",
            settings=_FROZEN,
            control_rank=2,
            colours=("#7a4fb0", "#b794f0"),
        ),
        BackendInfo(
            name="onnxruntime",
            title="ONNX Runtime",
            class_name="ONNXRuntime",
            image="onnxruntime",
            reads="onnx",
            distribution="onnxruntime",
            imports=("onnxruntime",),
            ways={
                "cpu": {
                    "fp32": FP32,
                    "bf16": _OWN_HALVES,
                    "fp16": _OWN_HALVES,
                    "int8": _QDQ,
                    "int4": _OWN_FOUR_BITS,
                },
                "cuda": {"fp32": FP32, "tf32": _TF32, "fp16": _FP16_FILE},
            },
            why_not={
                ("cpu", "bf16"): "ONNX Runtime's CPU provider has no bf16 kernels for convolutions and matrix products"
            },
            process_bytes=1024 << 20,
            decodes=("cpu",),
            profiler="onnxruntime.profile",
            settings={"graph": ("all", "extended", "basic", "off"), "spinning": ("on", "off")},
            control_rank=1,
            colours=("#0d7f5b", "#4fc99a"),
        ),
        BackendInfo(
            name="openvino",
            title="OpenVINO",
            class_name="OpenVINO",
            image="openvino",
            reads="onnx",
            distribution="openvino",
            imports=("openvino",),
            ways={
                "cpu": {
                    "fp32": FP32,
                    "bf16": Way("OpenVINO converts the fp32 file: inference precision hint bf16"),
                    "fp16": _OWN_HALVES,
                    "int8": _QDQ,
                    "int4": _OWN_FOUR_BITS,
                }
            },
            decodes=("cpu",),
            profiler="openvino.profile",
            settings={"hint": ("latency", "throughput")},
            colours=("#bd3a7c", "#f083b8"),
        ),
        _KERAS,
        msgspec.structs.replace(
            _KERAS,
            name="keras-jax",
            title="Keras on JAX",
            class_name="KerasJAX",
            image="keras-jax",
            imports=("keras", "jax"),
            wraps="jax",
            profiler="xplane.profile_jax",
            colours=("#5a3d8a", "#9d84cf"),
        ),
        msgspec.structs.replace(
            _KERAS,
            name="keras-tensorflow",
            title="Keras on TensorFlow",
            class_name="KerasTensorFlow",
            image="keras-tensorflow",
            imports=("keras", "tensorflow"),
            wraps="tensorflow",
            profiler="xplane.profile_tensorflow",
            colours=("#27517c", "#7fa6d0"),
        ),
        BackendInfo(
            name="tensorrt",
            title="TensorRT",
            class_name="TensorRT",
            image="tensorrt",
            reads="onnx",
            distribution="tensorrt-cu13-bindings",
            imports=("tensorrt",),
            ways={"cuda": {"fp32": FP32, "tf32": _TF32, "fp16": _FP16_FILE}},
            process_bytes=1024 << 20,
        ),
        BackendInfo(
            name=CANARY,
            title="Canary",
            class_name="Canary",
            image="canary",
            reads="canary",
            distribution="numpy",
            ways={"cpu": {"fp32": FP32}},
        ),
    )
}


_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_IMAGES = frozenset({*(info.image for info in _BUILT_IN.values()), ONNX.image})
"""Images of built-in backends: a plug-in runs in images of its own, since only those have its code."""


@functools.cache
def _from_plugins() -> tuple[dict[str, tuple[BackendInfo, Plugin]], tuple[Broken, ...]]:
    """Return the backends of plug-ins by name, and the entry points that bring none."""
    found: dict[str, tuple[BackendInfo, Plugin]] = {}
    broken: list[Broken] = []
    for plugin in plugins.installed(plugins.BACKENDS):
        try:
            info = _checked(plugins.load(plugin, BackendInfo), plugin, found)
        except PluginError as error:
            broken.append(Broken(plugin, str(error)))
        else:
            found[plugin.name] = (info, plugin)
    return found, tuple(broken)


def _checked(info: BackendInfo, plugin: Plugin, found: dict[str, tuple[BackendInfo, Plugin]]) -> BackendInfo:
    """Return a plug-in's entry as it is used; raise PluginError where it cannot be."""
    try:
        info = msgspec.convert(msgspec.to_builtins(info), BackendInfo)
    except (msgspec.ValidationError, TypeError) as error:
        raise PluginError(f"a field of its BackendInfo is wrong ({error})") from error
    if info.name != plugin.name:
        raise PluginError(f"its BackendInfo is called {info.name!r}")
    if info.name in _BUILT_IN:
        raise PluginError("a built-in backend has this name")
    if info.name in found:
        raise PluginError(f"{found[info.name][1].label} brings a backend of this name")
    if info.package.partition(".")[0] != plugin.package:
        raise PluginError(f"its module is in {info.package}, and workers are given {plugin.package} alone")
    own = info.format
    if info.reads not in {"native", ONNX.name} and (own is None or own.name != info.reads):
        raise PluginError(f"it reads {info.reads!r}, which is neither native nor onnx nor the name of its format")
    if own is not None and (own.name in {"native", "canary", ONNX.name} or not plugins.NAME.fullmatch(own.name)):
        raise PluginError(f"its format cannot be called {own.name!r}")
    if own is not None and not _FILE.fullmatch(own.file):
        raise PluginError(f"the files of its format cannot be called {own.file!r}")
    for image in (info.image, *([own.image] if own is not None else [])):
        if image in _IMAGES or not plugins.NAME.fullmatch(image):
            raise PluginError(f"its image {image!r} is not one of its own")
        taken = next((by for other, by in found.values() if image in _images_of(other)), None)
        if taken is not None and taken.distribution != plugin.distribution:
            raise PluginError(f"{taken.label} brings the image {image}")
    if not any(info.ways.values()):
        raise PluginError("it computes in no precision on any device")
    # A page's style sheet is the same everywhere, so that `verify` knows it: the spare colours are for plug-ins.
    return msgspec.structs.replace(info, colours=None, control_rank=None, by_default=False)


def _images_of(info: BackendInfo) -> tuple[str, ...]:
    return (info.image, *([info.format.image] if info.format is not None else []))


def _backends() -> dict[str, BackendInfo]:
    """Return all backends by name, those of plug-ins last."""
    return _BUILT_IN | {name: info for name, (info, _) in _from_plugins()[0].items()}


def broken() -> tuple[Broken, ...]:
    """Return the entry points that bring no backend, with the reasons."""
    return _from_plugins()[1]


def plugin_of(name: str) -> Plugin | None:
    """Return the plug-in that brings a backend; None: it is built in, or not known."""
    if name in _BUILT_IN:
        return None
    found = _from_plugins()[0].get(name)
    return None if found is None else found[1]


def plugins_of_images() -> dict[str, Plugin]:
    """Return the plug-in of each image that plug-ins bring; others than backends name it as their entry point."""
    brought = {image: plugin for info, plugin in _from_plugins()[0].values() for image in _images_of(info)}
    return {
        plugin.name: plugin for group in (plugins.SCENARIOS, plugins.DATA_SETS) for plugin in plugins.installed(group)
    } | brought


def names() -> tuple[str, ...]:
    """Return the names of the backends that a run on a CPU has by default (the canary is not one of them)."""
    return tuple(name for name, info in _backends().items() if _is_on_cpu(info) and info.by_default)


def names_where_named() -> tuple[str, ...]:
    """Return the names of the backends that run on a CPU, and only in runs that name them."""
    return tuple(name for name, info in _backends().items() if _is_on_cpu(info) and not info.by_default)


def names_on_gpus_only() -> tuple[str, ...]:
    """Return the names of the backends that run on a GPU and nowhere else."""
    return tuple(name for name, info in _backends().items() if "cpu" not in info.devices)


def all_names() -> tuple[str, ...]:
    """Return the names of all backends but the canary."""
    return (*names(), *names_where_named(), *names_on_gpus_only())


def _is_on_cpu(info: BackendInfo) -> bool:
    return info.name != CANARY and "cpu" in info.devices


def controls() -> tuple[str, ...]:
    """Return the names of the backends that serve as the A/A control where none is named, the first choice first."""
    ranked = [(info.control_rank, name) for name, info in _BUILT_IN.items() if info.control_rank is not None]
    return tuple(name for _, name in sorted(ranked))


def instead_of_mkl(name: str) -> str:
    """Return a backend's setting, `key=value`, by which another library computes what MKL would.

    Empty where there is none, or where this release does not know the backend.
    """
    known = _backends()
    return known[name].instead_of_mkl if name in known else ""


def get(name: str) -> BackendInfo:
    """Return what is known of a backend, the canary included; raises ValueError with the close matches."""
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    known = _backends()
    if name in known:
        return known[name]
    if (reason := why_broken(name)) is not None:
        raise ValueError(reason)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    hint = f"Did you mean {' or '.join(close)}?" if close else f"There are {', '.join(all_names())}."
    raise ValueError(f"There is no backend {name!r}. {hint}")


def why_broken(name: str) -> str | None:
    """Return why a plug-in that should bring a backend does not, in a sentence; None: there is no such plug-in."""
    return next((each.sentence for each in broken() if each.plugin.name == name), None)


def create(name: str, options: Options) -> Backend:
    """Import a backend with its framework and configure it; raises ValueError where there is none, or Unsupported."""
    info = get(name)
    module: Any = importlib.import_module(info.module)
    return cast("Backend", getattr(module, info.class_name)(options))
