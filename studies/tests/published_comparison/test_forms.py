"""The forms of the published comparison."""

from studies.published_comparison.forms import AS_PUBLISHED, FAIRLY, FRAMEWORKS, path
from studies.tests.published_comparison.records import TIMES_MS


def test_the_published_figures_and_the_forms_between() -> None:
    stated = {framework.title: framework.published_ms for framework in FRAMEWORKS}
    assert stated == {"PyTorch": 1.26, "TensorFlow": 6.61, "JAX": 3.15, "ONNX Runtime": 14.75, "OpenVINO": 144.84}
    for framework in FRAMEWORKS:
        way = path(framework)
        assert (way[0].name, way[-1].name) == (AS_PUBLISHED, FAIRLY)
        assert all(form.mends for form in way[1:])
    assert {form.arm for framework in FRAMEWORKS for form in framework.forms} == set(TIMES_MS)
