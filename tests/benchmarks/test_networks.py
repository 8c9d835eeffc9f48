"""Cut networks: the parts of the benchmark work on few points."""

import json

import numpy as np
import pytest
from benchmarks.networks.report import write_report

torch = pytest.importorskip("torch")
cuts = pytest.importorskip("benchmarks.networks.cuts")
network = pytest.importorskip("benchmarks.networks.network")


def latent_vectors(n_rows=400):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, n_rows)
    centers = 3 * rng.standard_normal((10, 40))
    x = torch.tensor(centers[y] + rng.standard_normal((n_rows, 40)), dtype=torch.float32)
    part = x, torch.tensor(y)
    return network.Images(part, part, part)


def test_the_network_has_the_parameters_that_the_pages_say():
    made = network.make_network()
    assert network.count_numbers(made) == 288_170
    assert cuts.take_body(made, 4)(torch.zeros(2, 1, 28, 28)).shape == (2, 576)


def test_shifted_images_keep_their_shape():
    torch.manual_seed(0)
    x = torch.rand(5, 1, 28, 28)
    shifted = network.augment(x)
    assert shifted.shape == x.shape
    assert set(np.unique(shifted)) <= {*np.unique(x)}


def test_heads_are_of_the_same_size_and_learn():
    latent = latent_vectors()
    torch.manual_seed(0)
    setting = cuts.Setting(n_components=8, degree=1, tol=0.9)
    fitted = cuts.fit_head(latent, setting)
    n_numbers = network.count_numbers(fitted)
    assert abs(network.count_numbers(cuts.make_perceptron(40, n_numbers)) - n_numbers) < 60
    assert network.accuracy(fitted, latent.test) > 90
    random = cuts.randomize(fitted)
    assert network.accuracy(random, latent.test) < 50
    network.train_head(random, latent.train, n_epochs=40)
    assert network.accuracy(random, latent.test) > 90


def test_report(tmp_path):
    path = tmp_path / "results.json"
    machine = {"device": "a GPU", "libraries": {"torch": "2.5"}, "commit": "0"}
    whole = {"seed": 0, "head": "whole network", "numbers": 100, "validation": 94, "test": 94.0}
    head = whole | {"head": "linear", "numbers": 40, "test": 93.25, "polynomials": 0}
    setting = {"seed": 0, "cut": 4, **vars(cuts.Setting())}
    setting |= {"polynomials": 9, "numbers": 50, "validation": 91.0, "test": 90.0}
    rates = {"seed": 0, "compiled": False, "images_per_s": {"whole network": 100, "cut": 150}}
    stages = {
        "heads": {"machine": machine, "rows": [whole, head, setting]},
        "throughput": {"machine": machine, "rows": [rates]},
    }
    path.write_text(json.dumps(stages))
    write_report(path)
    text = path.with_suffix(".md").read_text(encoding="utf-8")
    assert "| linear | 40 | 40% | 94.00 | 93.25 | -0.75 | -0.75 |" in text
    assert "| cut | 150 | 1.50× |" in text
    assert (tmp_path / "figures" / "accuracy.svg").exists()
