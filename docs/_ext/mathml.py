"""Formulas as MathML, which browsers draw themselves: no script, and nothing from the network."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError
from sphinx.util.math import get_node_equation_number


def _mathml(node: Any, *, as_block: bool) -> str:
    try:
        formula = str(tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        raise ExtensionError(f"formula {node.astext()!r}: {error}") from error
    return formula.replace("\N{REVERSE SOLIDUS OPERATOR}", "\N{SET MINUS}")  # in more fonts


def visit_inline(translator: Any, node: Any) -> None:
    translator.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: Any) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})</span>')
    translator.body.append(_mathml(node, as_block=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
