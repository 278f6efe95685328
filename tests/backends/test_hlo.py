"""What XLA writes of a compiled module, read for its products."""

import pytest

from levelfield.backends import hlo

NAMES_ALONE = """
HloModule jit_forward, is_scheduled=true

%fused (param_0: f32[4,8]) -> bf16[4,8] {
  %param_0 = f32[4,8]{1,0} parameter(0)
  ROOT %convert.1 = bf16[4,8]{1,0} convert(%param_0)
}

ENTRY %main.5 (Arg_0.1: f32[4,8], Arg_1.2: bf16[8,3]) -> f32[4,3] {
  %Arg_0.1 = f32[4,8]{1,0} parameter(0)
  %Arg_1.2 = bf16[8,3]{1,0} parameter(1)
  %fusion = bf16[4,8]{1,0} fusion(%Arg_0.1), kind=kLoop, calls=%fused
  %dot.1 = f32[4,3]{1,0} dot(%fusion, %Arg_1.2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %dot.2 = f32[4,3]{1,0} dot(%dot.1, %dot.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""

WITH_TYPES = """
  %p = bf16[1,224,224,3]{3,2,1,0} parameter(0)
  ROOT %convolution = f32[1,9,9,64]{3,2,1,0} convolution(bf16[1,9,9,3]{3,2,1,0} %p, bf16[7,7,3,64]{3,2,1,0} %k)
"""

CALL = """
  %w = bf16[768,768]{1,0} parameter(0)
  %custom-call.3 = bf16[128,768]{1,0} custom-call(%x, %w), custom_call_target="__onednn$matmul", backend_config={}
  %x = bf16[128,768]{1,0} parameter(1)
  %other = f32[3]{0} custom-call(%w), custom_call_target="TopK"
"""


ON_A_GPU = """
%gemm_fusion_dot.5_computation (parameter_0: bf16[4,16], parameter_1: bf16[16,16]) -> bf16[4,16] {
  %parameter_0 = bf16[4,16]{1,0} parameter(0)
  %parameter_1 = bf16[16,16]{1,0} parameter(1)
  ROOT %dot.0 = bf16[4,16]{1,0} dot(%parameter_0, %parameter_1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

ENTRY %main.9 (Arg_0: bf16[1,9,9,64], Arg_1: bf16[64,3,3,64]) -> f32[4,16] {
  %Arg_0 = bf16[1,9,9,64]{3,2,1,0} parameter(0)
  %Arg_1 = bf16[64,3,3,64]{3,2,1,0} parameter(1)
  %x = f32[4,8]{1,0} parameter(2)
  %cudnn-conv.1 = (bf16[1,9,9,64]{3,2,1,0}, u8[4096]{0}) custom-call(%Arg_0, %Arg_1), window={size=3x3}, \
custom_call_target="__cudnn$convBiasActivationForward", backend_config={"conv_result_scale":1}
  %get-tuple-element.1 = bf16[1,9,9,64]{3,2,1,0} get-tuple-element(%cudnn-conv.1), index=0
  %cublas-gemm.2 = (f32[4,16]{1,0:S(1)}, s8[4194304]{0}) custom-call(%x, %y), custom_call_target="__cublas$lt$matmul"
  %fmha = (bf16[1,12,128,64]{3,2,1,0}, u8[0]{0}) custom-call(%q, %k, %v), custom_call_target="__cudnn$fmhaSoftmax"
  %gemm_fusion_dot.5 = bf16[4,16]{1,0} fusion(%a, %b), kind=kCustom, calls=%gemm_fusion_dot.5_computation
  %sorted = (f32[9]{0}, s32[9]{0}) sort(%s, %t), dimensions={0}
}
""".replace("\\\n", "")


@pytest.mark.parametrize(
    ("text", "products"),
    [
        (ON_A_GPU, {"bf16": 3, "fp32": 1}),
        (NAMES_ALONE, {"bf16": 1, "fp32": 1}),
        (WITH_TYPES, {"bf16": 1}),
        (CALL, {"bf16": 1}),
        ("", {}),
        ("garbage = \n %x = ", {}),
    ],
)
def test_products_are_counted_by_what_they_multiply(text: str, products: dict[str, int]) -> None:
    assert hlo.products(text) == products
