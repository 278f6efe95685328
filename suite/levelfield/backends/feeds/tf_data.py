"""tf.data: records of one length, decoded in TensorFlow's own threads, a batch ahead."""

from typing import Any

from levelfield.backends.feeds.protocol import AHEAD, Feed, FeedRequest
from levelfield.backends.protocol import Arrays
from levelfield.zoo import dataset
from levelfield.zoo.weights import HEADER_BYTES


def open_feed(request: FeedRequest) -> Feed:
    """Make the pipeline; its threads end with it."""
    import tensorflow as tf

    header = dataset.read(request.path)

    def decoded(record: Any) -> Any:  # noqa: ANN401  (a tensor)
        values = tf.reshape(tf.io.decode_raw(record, tf.uint8), header.shape)
        return (tf.cast(values, tf.float32) - float(dataset.OFFSET)) * float(dataset.SCALE)

    files = tf.data.FixedLengthRecordDataset(
        str(request.path), record_bytes=header.record_bytes, header_bytes=HEADER_BYTES
    )
    pipeline = (
        files.repeat()
        .map(decoded, num_parallel_calls=request.workers, deterministic=True)
        .batch(request.batch, drop_remainder=True)
        .prefetch(AHEAD)
    )
    batches = pipeline.as_numpy_iterator()

    def take() -> Arrays:
        return {request.name: dataset.channels_first(next(batches))}

    settings = {
        "feed": "tf.data, items decoded in threads",
        "feed workers": str(request.workers),
        "batches ahead": str(AHEAD),
    }
    return Feed(take, settings, lambda: None)  # the pipeline ends with the process
