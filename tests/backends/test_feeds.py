"""Every way to read a dataset: the same batches, bit by bit, round and round."""

from pathlib import Path

import numpy as np
import pytest

from levelfield.backends.feeds import Feed, FeedRequest, open_feed
from levelfield.zoo import dataset, models

ITEMS = 10


@pytest.fixture(params=["mlp", "resnet50"])
def feed_request(request: pytest.FixtureRequest, tmp_path: Path) -> FeedRequest:
    model = models.get(request.param)
    path = tmp_path / f"{model.name}.u8"
    dataset.save(model, path, ITEMS)
    return FeedRequest(path, dataset.tensor(model).name, batch=4, workers=1)


def check(feed: Feed, feed_request: FeedRequest) -> None:
    """Whoever reads it, batch 0 … 5 are the records in order, over the end and on from the beginning."""
    records = dataset.records(feed_request.path)
    try:
        for number in range(6):
            batch = feed.take()
            indices = [(number * feed_request.batch + offset) % ITEMS for offset in range(feed_request.batch)]
            assert set(batch) == {feed_request.name}
            np.testing.assert_array_equal(batch[feed_request.name], dataset.decode(records[indices]))
            assert batch[feed_request.name].dtype == np.float32
    finally:
        feed.close()
    assert feed.settings["feed"]


def test_a_thread_reads_it(feed_request: FeedRequest) -> None:
    check(open_feed("prefetch", feed_request), feed_request)


def test_an_error_in_the_thread_reaches_whoever_takes(
    feed_request: FeedRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(records: dataset.Records) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(dataset, "decode", broken)
    feed = open_feed("prefetch", feed_request)
    with pytest.raises(OSError, match="the disk is gone"):
        feed.take()
    feed.close()
