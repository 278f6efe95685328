from suite.imported.served import Latency, latency_results, left_out, model, rate_results


def test_requests_stand_for_their_median_and_the_tail_is_kept() -> None:
    statistics = Latency("request latency", (), 0.2, 0.1, 0.9)
    assert [result.name for result in latency_results("toy", statistics)] == [
        "toy, request latency, mean",
        "toy, request latency, median",
        "toy, request latency, 99th percentile",
    ]
    requests = Latency("request latency", (0.1, 0.0, 0.3), 0.2, 0.1, 0.9)
    first, mean, tail = latency_results("toy", requests)
    assert [sample.total_ns for sample in first.launches[0]] == [100_000_000, 300_000_000]
    assert (mean.name, tail.name) == ("toy, request latency, mean", "toy, request latency, 99th percentile")


def test_a_rate_that_is_not_known_or_none_is_no_result() -> None:
    (only,) = rate_results("toy", (("requests", None), ("tokens", 0.0), ("output tokens", 5.0)))
    assert (only.name, only.scenario) == ("toy, output tokens", "throughput")


def test_folders_of_a_machine_are_no_part_of_a_models_name() -> None:
    assert model("/home/somebody/models/opt-125m/") == "opt-125m"
    assert model("facebook/opt-125m") == "facebook/opt-125m"
    assert model(None) == "a model without a name"


def test_failed_requests_are_counted() -> None:
    assert left_out(0) == ()
    assert left_out(3) == ("3 of the requests, which failed",)
