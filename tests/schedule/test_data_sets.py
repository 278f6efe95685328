"""What a run that is resumed or repeated has to be given of the data sets that it answered."""

from pathlib import Path

import pytest

from levelfield import plugins
from levelfield.errors import LevelfieldError
from levelfield.record.schema import DataSet
from levelfield.schedule import data_sets
from levelfield.schedule.data_sets import DataRequest

BEFORE = DataSet("imagenet", "ImageNet", "resnet50", ("top-1",), "a" * 64, 9, (0, 3))
GIVEN = DataRequest("imagenet", Path("x"), items=500)


def test_a_run_goes_on_with_what_it_answered() -> None:
    assert data_sets.repeat([GIVEN], [BEFORE], needed=True)[0].items == 2
    assert data_sets.repeat([], [BEFORE], needed=False) == ()
    with pytest.raises(LevelfieldError, match="That run answers ImageNet too"):
        data_sets.repeat([], [BEFORE], needed=True)
    with pytest.raises(LevelfieldError, match="That run did not answer imagenet"):
        data_sets.repeat([GIVEN], [], needed=False)


def test_without_its_plugin_a_data_set_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "installed", lambda _: ())
    assert data_sets.read((), "smoke") == ()
    with pytest.raises(LevelfieldError, match="levelfield-datasets, which is not installed here") as refused:
        data_sets.read(["imagenet=x"], "smoke")
    assert refused.value.fix == "In a checkout: pipx inject levelfield ./plugins/datasets"
    other = plugins.Plugin(plugins.DATA_SETS, "other", "json.decoder:JSONDecoder", "other", "1.0")
    monkeypatch.setattr(plugins, "installed", lambda _: (other,))
    with pytest.raises(LevelfieldError, match=r"The plug-in other 1\.0 brings no dataset other"):
        data_sets.hooks()
