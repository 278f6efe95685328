"""Reading XLA's own text of what it compiled: in which types it multiplies matrices, and what its instructions are of.

See https://openxla.org/xla/operation_semantics: Dot, Conv, CustomCall; the text is that of `HloModule::ToString`.
"""

import re
from collections import Counter
from collections.abc import Iterator

from levelfield.backends.precisions import as_computed, precision_of
from levelfield.record.measured import Computed

_INSTRUCTION = re.compile(
    r"^\s*(?:ROOT\s+)?%?(?P<name>[\w.\-]+) = (?:\((?P<first>\w+)\[.*?\)|(?P<type>\w+)\[[^ ]*)"
    r" (?P<rest>[\w\-]+\(.*)$"
)
"""Of several results the first is the product's: on GPUs `(f32[64,10]{1,0}, s8[4194304]{0})`, with a workspace."""
_PRODUCT = re.compile(r"^(?:dot|convolution)\((?P<operands>[^)]*)\)")
_CALL = re.compile(r"^custom-call\((?P<operands>[^)]*)\).*custom_call_target=\"(?P<target>[^\"]*)\"")
_TARGETS = re.compile(r"matmul|gemm|conv|dot|fmha", re.IGNORECASE)
"""Custom calls that are products: `__onednn$matmul`, `__cublas$gemm`, `__cudnn$convForward`, `__cudnn$fmhaSoftmax`."""
_DESCRIBED = re.compile(
    r"^\s*(?:ROOT\s+)?%?(?P<name>[\w.\-]+) = \(?(?P<shape>\w+\[[\d,]*\]).*metadata=\{[^}]*op_name=\"(?P<of>[^\"]*)\""
)


def origins(text: str) -> dict[str, tuple[str, str]]:
    r"""Return, by an instruction's name, the operation of the program that it is of, and the shape of its result.

    Examples
    --------
    >>> origins('  %fusion.3 = f32[2,4]{1,0} fusion(%x), metadata={op_name="jit(forward)/conv" stack_frame_id=9}')
    {'fusion.3': ('conv', 'f32[2,4]')}
    """
    found = (_DESCRIBED.match(line) for line in text.splitlines())
    return {each["name"]: (each["of"].rpartition("/")[2], each["shape"]) for each in found if each}


def computed(text: str, precision: str) -> Computed:
    """Return what the text of a compiled module says that it computes in."""
    source = "XLA's text of the compiled module"
    return Computed(
        as_computed(products(text), precision), source, kernels(text), f"{source}, which names no instruction set"
    )


def products(text: str) -> dict[str, int]:
    r"""Count the products in the text of a compiled module by the type of their first operand.

    Examples
    --------
    >>> products("  %x = bf16[2,3]{1,0} parameter(0)\n  %y = f32[2,4]{1,0} dot(%x, %w), lhs_contracting_dims={1}")
    {'bf16': 1}
    """
    types: dict[str, str] = {}
    operands: list[tuple[str, str]] = []
    for name, own, product in _instructions(text):
        types[name] = own
        if product is not None:
            operands.append((product["operands"].partition(", ")[0], own))
    counted: Counter[str] = Counter()
    for first, result in operands:
        *kind, name = first.split()  # with or without its type before it
        type_ = kind[0].partition("[")[0] if kind else types.get(name.lstrip("%"), result)
        counted[precision_of(type_)] += 1
    return dict(counted)


def kernels(text: str) -> dict[str, int]:
    r"""Count the products in the text of a compiled module by who computes them: XLA itself, or a library it calls.

    Examples
    --------
    >>> kernels("  %y = f32[2,4]{1,0} dot(%x, %w), lhs_contracting_dims={1}")
    {'XLA itself': 1}
    >>> kernels('  %y = f32[2,4]{1,0} custom-call(%x, %w), custom_call_target="__onednn$matmul"')
    {'XLA, by way of __onednn$matmul': 1}
    """
    targets = (product.groupdict().get("target") for _, _, product in _instructions(text) if product is not None)
    return dict(Counter(f"XLA, by way of {target}" if target else "XLA itself" for target in targets))


def _instructions(text: str) -> Iterator[tuple[str, str, re.Match[str] | None]]:
    """Yield the name and the type of each instruction, and the match of `_PRODUCT` or `_CALL` where it is a product."""
    for line in text.splitlines():
        found = _INSTRUCTION.match(line)
        if found is None:
            continue
        product = _PRODUCT.match(found["rest"])
        if product is None:
            call = _CALL.match(found["rest"])
            product = call if call is not None and _TARGETS.search(call["target"]) else None
        yield found["name"], found["type"] or found["first"], product
