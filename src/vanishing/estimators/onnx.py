"""What the estimators are in ONNX."""

from vanishing.estimators.class_features import ClassVanishingFeatures
from vanishing.estimators.ideal import VanishingIdeal
from vanishing.export.onnx import Graph, Output, Polynomials, Value, model_nodes, values


@model_nodes(VanishingIdeal)
def _ideal(ideal: VanishingIdeal, graph: Graph, x: Value) -> list[Output]:
    return _outputs([ideal], graph, x)


@model_nodes(ClassVanishingFeatures)
def _class_features(model: ClassVanishingFeatures, graph: Graph, x: Value) -> list[Output]:
    return _outputs(model.ideals_, graph, x)


def _outputs(ideals: list[VanishingIdeal], graph: Graph, x: Value) -> list[Output]:
    """What ``transform`` returns, and the polynomials with their signs."""
    signed = values([Polynomials.plain(ideal.basis_) for ideal in ideals], graph, x)
    width = sum(ideal.basis_.count() for ideal in ideals)
    # All ideals are copies of one, and so agree on what they return.
    features = signed if ideals[0].output == "signed" else signed.apply("Abs")
    return [Output("features", features, width), Output("values", signed, width)]
