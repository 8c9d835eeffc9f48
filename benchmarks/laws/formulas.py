"""The laws of the suite, and tables without one.

``FORMULAS`` are the algebraic ones among the hundred formulas of the Feynman Symbolic Regression
Database, with the ranges of its table: S.-M. Udrescu and M. Tegmark, *AI Feynman: a
physics-inspired method for symbolic regression*, Science Advances 6, eaay2631 (2020). Left out are
those with sines, exponentials and the like. Each is also written as a polynomial that is zero.

``IDENTITIES`` are tables of whole numbers with sums and products, as in accounting. ``SHIPPED`` are
the tables of scikit-learn.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sklearn import datasets

#: What is counted; laws beyond are run and listed.
MOST_COLUMNS, HIGHEST_DEGREE = 5, 4

Ranges = dict[str, tuple[float, float]]


def uniform(names: str, low: float = 1, high: float = 5) -> Ranges:
    """Return the same range for several variables."""
    return dict.fromkeys(names.split(), (low, high))


@dataclass(frozen=True)
class Formula:
    """A formula of the published table."""

    number: str
    target: str
    formula: str
    ranges: Ranges
    implicit: str

    @property
    def columns(self) -> list[str]:
        """Names of the columns; the target is the last one."""
        return [*self.ranges, self.target]

    @property
    def truths(self) -> list[sympy.Poly]:
        """The law as a polynomial that is zero."""
        return polynomials([self.implicit], self.columns)

    @property
    def is_counted(self) -> bool:
        """Whether the law has few variables and a low degree."""
        degree = self.truths[0].total_degree()
        return len(self.columns) <= MOST_COLUMNS and degree <= HIGHEST_DEGREE

    @property
    def is_explicit(self) -> bool:
        """Whether the target is a polynomial of the other columns."""
        symbol = sympy.Symbol(self.target)
        by_target = sympy.Poly(self.truths[0].as_expr(), symbol)
        return bool(by_target.degree() == 1 and by_target.LC().is_number)

    def draw(self, n_rows: int, rng: np.random.Generator) -> np.ndarray:
        """Draw rows without noise."""
        values = {name: rng.uniform(*span, n_rows) for name, span in self.ranges.items()}
        target = eval(self.formula, {"__builtins__": {}}, values | {"sqrt": np.sqrt, "pi": np.pi})
        return np.column_stack([*values.values(), target])


@dataclass(frozen=True)
class Identity:
    """A table of whole numbers in which sums and products hold."""

    number: str
    columns: Sequence[str]
    make: Callable[[int, np.random.Generator], Sequence[np.ndarray]]
    equations: Sequence[str]

    @property
    def truths(self) -> list[sympy.Poly]:
        """The laws as polynomials that are zero, in their shortest form."""
        return polynomials(self.equations, self.columns)

    @property
    def is_counted(self) -> bool:
        """Whether the laws have few variables and a low degree."""
        return len(self.columns) <= MOST_COLUMNS

    def draw(self, n_rows: int, rng: np.random.Generator) -> np.ndarray:
        """Draw rows without noise."""
        return np.column_stack(self.make(n_rows, rng)).astype(float)


@dataclass(frozen=True)
class Shipped:
    """A table that comes with scikit-learn, and what is known to hold in it."""

    number: str
    load: Callable[[], Any]
    equations: Sequence[str]
    remark: str


def polynomials(equations: Sequence[str], columns: Sequence[str]) -> list[sympy.Poly]:
    """Read polynomials in the columns; all names are plain symbols, also I and E."""
    symbols = {name: sympy.Symbol(name) for name in columns}
    return [
        sympy.Poly(sympy.sympify(equation, locals=symbols).evalf(17), *symbols.values())
        for equation in equations
    ]


def _sectors(n_rows: int, rng: np.random.Generator) -> list[np.ndarray]:
    government, private, mining, manufacturing, construction = rng.integers(100, 9000, (5, n_rows))
    services, goods = government + private, mining + manufacturing + construction
    return [
        government, private, services, mining, manufacturing, construction, goods, services + goods
    ]  # fmt: skip


def _balance(n_rows: int, rng: np.random.Generator) -> list[np.ndarray]:
    current, fixed = rng.integers(1000, 90_000, (2, n_rows))
    liabilities = (rng.uniform(0.2, 0.9, n_rows) * (current + fixed)).astype(int)
    return [current, fixed, current + fixed, liabilities, current + fixed - liabilities]


def _invoice(n_rows: int, rng: np.random.Generator) -> list[np.ndarray]:
    quantity, price = rng.integers(1, 200, n_rows), rng.integers(5, 5000, n_rows)
    shipping = rng.integers(0, 5000, n_rows)
    return [quantity, price, quantity * price, shipping, quantity * price + shipping]


def _profit(n_rows: int, rng: np.random.Generator) -> list[np.ndarray]:
    revenue, cost = rng.integers(5000, 90_000, n_rows), rng.integers(1000, 50_000, n_rows)
    tax = rng.integers(0, 9000, n_rows)
    return [revenue, cost, tax, revenue - cost - tax]


IDENTITIES = [
    Identity(
        "balance sheet",
        ["current", "fixed", "assets", "liabilities", "equity"],
        _balance,
        ["current+fixed-assets", "assets-liabilities-equity"],
    ),
    Identity(
        "invoice",
        ["quantity", "price", "amount", "shipping", "total"],
        _invoice,
        ["quantity*price-amount", "amount+shipping-total"],
    ),
    Identity("profit", ["revenue", "cost", "tax", "profit"], _profit, ["revenue-cost-tax-profit"]),
    Identity(
        "employment by sector",
        [
            "government", "private", "services", "mining", "manufacturing", "construction",
            "goods", "total",
        ],
        _sectors,
        [
            "government+private-services",
            "mining+manufacturing+construction-goods",
            "services+goods-total",
        ],
    ),
]  # fmt: skip

SHIPPED = [
    Shipped("iris", datasets.load_iris, [], "no law"),
    Shipped("wine", datasets.load_wine, [], "no law"),
    Shipped("linnerud", datasets.load_linnerud, [], "no law (20 rows)"),
    Shipped(
        "diabetes",
        lambda: datasets.load_diabetes(scaled=False),
        ["s3*s4-s1"],
        "s4 is the ratio of s1 and s3, mostly rounded to a whole number",
    ),
    Shipped("breast cancer", datasets.load_breast_cancer, [], "no exact law; sizes of a nucleus"),
    Shipped(
        "digits",
        datasets.load_digits,
        ["pixel_0_0", "pixel_4_0", "pixel_4_7"],
        "three pixels are always 0",
    ),
]

FORMULAS = [
    Formula(
        "I.8.14",
        "d",
        "sqrt((x2-x1)**2+(y2-y1)**2)",
        uniform("x1 x2 y1 y2"),
        "d**2-(x2-x1)**2-(y2-y1)**2",
    ),
    Formula(
        "I.9.18",
        "F",
        "G*m1*m2/((x2-x1)**2+(y2-y1)**2+(z2-z1)**2)",
        uniform("G m1 m2 x2 y2 z2", 1, 2) | uniform("x1 y1 z1", 3, 4),
        "F*((x2-x1)**2+(y2-y1)**2+(z2-z1)**2)-G*m1*m2",
    ),
    Formula(
        "I.10.7",
        "m",
        "m0/sqrt(1-v**2/c**2)",
        uniform("m0") | uniform("v", 1, 2) | uniform("c", 3, 10),
        "m**2*(c**2-v**2)-m0**2*c**2",
    ),
    Formula(
        "I.11.19", "A", "x1*y1+x2*y2+x3*y3", uniform("x1 x2 x3 y1 y2 y3"), "A-x1*y1-x2*y2-x3*y3"
    ),
    Formula("I.12.1", "F", "mu*N", uniform("mu N"), "F-mu*N"),
    Formula(
        "I.12.2",
        "F",
        "q1*q2/(4*pi*epsilon*r**2)",
        uniform("q1 q2 epsilon r"),
        "4*pi*F*epsilon*r**2-q1*q2",
    ),
    Formula(
        "I.12.4", "Ef", "q1/(4*pi*epsilon*r**2)", uniform("q1 epsilon r"), "4*pi*Ef*epsilon*r**2-q1"
    ),
    Formula("I.12.5", "F", "q2*Ef", uniform("q2 Ef"), "F-q2*Ef"),
    Formula("I.13.4", "K", "m*(v**2+u**2+w**2)/2", uniform("m v u w"), "K-m*(v**2+u**2+w**2)/2"),
    Formula(
        "I.13.12", "U", "G*m1*m2*(1/r2-1/r1)", uniform("G m1 m2 r1 r2"), "U*r1*r2-G*m1*m2*(r1-r2)"
    ),
    Formula("I.14.3", "U", "m*g*z", uniform("m g z"), "U-m*g*z"),
    Formula("I.14.4", "U", "k*x**2/2", uniform("k x"), "U-k*x**2/2"),
    Formula(
        "I.15.3t",
        "t1",
        "(t-u*x/c**2)/sqrt(1-u**2/c**2)",
        uniform("x t") | uniform("c", 3, 10) | uniform("u", 1, 2),
        "t1**2*c**2*(c**2-u**2)-(t*c**2-u*x)**2",
    ),
    Formula(
        "I.15.3x",
        "x1",
        "(x-u*t)/sqrt(1-u**2/c**2)",
        uniform("x", 5, 10) | uniform("u t", 1, 2) | uniform("c", 3, 20),
        "x1**2*(c**2-u**2)-c**2*(x-u*t)**2",
    ),
    Formula(
        "I.15.10",
        "p",
        "m0*v/sqrt(1-v**2/c**2)",
        uniform("m0") | uniform("v", 1, 2) | uniform("c", 3, 10),
        "p**2*(c**2-v**2)-m0**2*v**2*c**2",
    ),
    Formula("I.16.6", "w", "(u+v)/(1+u*v/c**2)", uniform("c v u"), "w*c**2+w*u*v-u*c**2-v*c**2"),
    Formula(
        "I.18.4", "r", "(m1*r1+m2*r2)/(m1+m2)", uniform("m1 m2 r1 r2"), "r*m1+r*m2-m1*r1-m2*r2"
    ),
    Formula(
        "I.24.6",
        "E",
        "m*(omega**2+omega0**2)*x**2/4",
        uniform("m omega omega0 x", 1, 3),
        "E-m*(omega**2+omega0**2)*x**2/4",
    ),
    Formula("I.25.13", "Ve", "q/C", uniform("q C"), "Ve*C-q"),
    Formula("I.27.6", "f", "1/(1/d1+n/d2)", uniform("d1 n d2"), "f*d2+f*n*d1-d1*d2"),
    Formula("I.29.4", "k", "omega/c", uniform("omega c", 1, 10), "k*c-omega"),
    Formula(
        "I.32.5",
        "P",
        "q**2*a**2/(6*pi*epsilon*c**3)",
        uniform("q a epsilon c"),
        "6*pi*P*epsilon*c**3-q**2*a**2",
    ),
    Formula(
        "I.32.17",
        "P",
        "epsilon*c*Ef**2/2*8*pi*r**2/3*omega**4/(omega**2-omega0**2)**2",
        uniform("epsilon c Ef r omega", 1, 2) | uniform("omega0", 3, 5),
        "3*P*(omega**2-omega0**2)**2-4*pi*epsilon*c*Ef**2*r**2*omega**4",
    ),
    Formula("I.34.8", "omega", "q*v*B/p", uniform("q v B p"), "omega*p-q*v*B"),
    Formula(
        "I.34.10",
        "omega",
        "omega0/(1-v/c)",
        uniform("c", 3, 10) | uniform("v", 1, 2) | uniform("omega0"),
        "omega*c-omega*v-omega0*c",
    ),
    Formula(
        "I.34.14",
        "omega",
        "(1+v/c)/sqrt(1-v**2/c**2)*omega0",
        uniform("c", 3, 10) | uniform("v", 1, 2) | uniform("omega0"),
        "omega**2*(c-v)-omega0**2*(c+v)",
    ),
    Formula("I.34.27", "E", "h*omega/(2*pi)", uniform("h omega"), "2*pi*E-h*omega"),
    Formula(
        "I.38.12",
        "r",
        "4*pi*epsilon*h**2/(m*q**2)",
        uniform("m q h epsilon"),
        "r*m*q**2-4*pi*epsilon*h**2",
    ),
    Formula("I.39.1", "E", "3*p*V/2", uniform("p V"), "E-3*p*V/2"),
    Formula(
        "I.39.11", "E", "p*V/(gamma-1)", uniform("gamma", 2, 5) | uniform("p V"), "E*gamma-E-p*V"
    ),
    Formula("I.39.22", "P", "n*kb*T/V", uniform("n T V kb"), "P*V-n*kb*T"),
    Formula("I.43.16", "v", "mu*q*Ve/d", uniform("mu q Ve d"), "v*d-mu*q*Ve"),
    Formula("I.43.31", "D", "mob*T*kb", uniform("mob T kb"), "D-mob*T*kb"),
    Formula(
        "I.43.43",
        "kappa",
        "kb*v/((gamma-1)*A)",
        uniform("gamma", 2, 5) | uniform("kb A v"),
        "kappa*A*gamma-kappa*A-kb*v",
    ),
    Formula("I.47.23", "c", "sqrt(gamma*pr/rho)", uniform("gamma pr rho"), "c**2*rho-gamma*pr"),
    Formula(
        "I.48.20",
        "E",
        "m*c**2/sqrt(1-v**2/c**2)",
        uniform("m") | uniform("v", 1, 2) | uniform("c", 3, 10),
        "E**2*(c**2-v**2)-m**2*c**6",
    ),
    Formula("II.2.42", "P", "kappa*(T2-T1)*A/d", uniform("kappa T1 T2 A d"), "P*d-kappa*(T2-T1)*A"),
    Formula("II.3.24", "h", "P/(4*pi*r**2)", uniform("P r"), "4*pi*h*r**2-P"),
    Formula("II.4.23", "V", "q/(4*pi*epsilon*r)", uniform("q epsilon r"), "4*pi*V*epsilon*r-q"),
    Formula(
        "II.6.15a",
        "Ef",
        "3*p*z*sqrt(x**2+y**2)/(4*pi*epsilon*r**5)",
        uniform("p epsilon r x y z", 1, 3),
        "16*pi**2*Ef**2*epsilon**2*r**10-9*p**2*z**2*(x**2+y**2)",
    ),
    Formula(
        "II.8.7",
        "E",
        "3*q**2/(5*4*pi*epsilon*d)",
        uniform("q epsilon d"),
        "20*pi*E*epsilon*d-3*q**2",
    ),
    Formula("II.8.31", "E", "epsilon*Ef**2/2", uniform("epsilon Ef"), "E-epsilon*Ef**2/2"),
    Formula(
        "II.10.9",
        "Ef",
        "sigma/(epsilon*(1+chi))",
        uniform("sigma epsilon chi"),
        "Ef*epsilon+Ef*epsilon*chi-sigma",
    ),
    Formula(
        "II.11.3",
        "x",
        "q*Ef/(m*(omega0**2-omega**2))",
        uniform("q Ef m", 1, 3) | uniform("omega0", 3, 5) | uniform("omega", 1, 2),
        "x*m*(omega0**2-omega**2)-q*Ef",
    ),
    Formula(
        "II.11.27",
        "P",
        "n*alpha/(1-n*alpha/3)*epsilon*Ef",
        uniform("n alpha", 0, 1) | uniform("epsilon Ef", 1, 2),
        "3*P-P*n*alpha-3*n*alpha*epsilon*Ef",
    ),
    Formula(
        "II.11.28",
        "theta",
        "1+n*alpha/(1-n*alpha/3)",
        uniform("n alpha", 0, 1),
        "3*theta-theta*n*alpha-3-2*n*alpha",
    ),
    Formula(
        "II.13.17",
        "B",
        "2*I/(4*pi*epsilon*c**2*r)",
        uniform("epsilon c I r"),
        "4*pi*B*epsilon*c**2*r-2*I",
    ),
    Formula(
        "II.13.23",
        "rho",
        "rho0/sqrt(1-v**2/c**2)",
        uniform("rho0") | uniform("v", 1, 2) | uniform("c", 3, 10),
        "rho**2*(c**2-v**2)-rho0**2*c**2",
    ),
    Formula(
        "II.13.34",
        "j",
        "rho0*v/sqrt(1-v**2/c**2)",
        uniform("rho0") | uniform("v", 1, 2) | uniform("c", 3, 10),
        "j**2*(c**2-v**2)-rho0**2*v**2*c**2",
    ),
    Formula(
        "II.21.32",
        "V",
        "q/(4*pi*epsilon*r*(1-v/c))",
        uniform("q epsilon r") | uniform("v", 1, 2) | uniform("c", 3, 10),
        "4*pi*V*epsilon*r*(c-v)-q*c",
    ),
    Formula(
        "II.24.17",
        "k",
        "sqrt(omega**2/c**2-pi**2/d**2)",
        uniform("omega", 4, 6) | uniform("c", 1, 2) | uniform("d", 2, 4),
        "k**2*c**2*d**2-omega**2*d**2+pi**2*c**2",
    ),
    Formula("II.27.16", "F", "epsilon*c*Ef**2", uniform("epsilon c Ef"), "F-epsilon*c*Ef**2"),
    Formula("II.27.18", "E", "epsilon*Ef**2", uniform("epsilon Ef"), "E-epsilon*Ef**2"),
    Formula("II.34.2", "mom", "q*v*r/2", uniform("q v r"), "mom-q*v*r/2"),
    Formula("II.34.2a", "I", "q*v/(2*pi*r)", uniform("q v r"), "2*pi*I*r-q*v"),
    Formula("II.34.11", "omega", "g*q*B/(2*m)", uniform("g q B m"), "2*omega*m-g*q*B"),
    Formula("II.34.29a", "mom", "q*h/(4*pi*m)", uniform("q h m"), "4*pi*mom*m-q*h"),
    Formula("II.34.29b", "E", "2*pi*g*mom*B*Jz/h", uniform("g h Jz mom B"), "E*h-2*pi*g*mom*B*Jz"),
    Formula(
        "II.36.38",
        "f",
        "mom*H/(kb*T)+mom*alpha*M/(epsilon*c**2*kb*T)",
        uniform("mom H kb T alpha epsilon c M", 1, 3),
        "f*epsilon*c**2*kb*T-mom*H*epsilon*c**2-mom*alpha*M",
    ),
    Formula("II.37.1", "E", "mom*(1+chi)*B", uniform("mom B chi"), "E-mom*B-mom*chi*B"),
    Formula("II.38.3", "F", "Y*A*x/d", uniform("Y A x d"), "F*d-Y*A*x"),
    Formula("II.38.14", "mu", "Y/(2*(1+sigma))", uniform("Y sigma"), "2*mu+2*mu*sigma-Y"),
    Formula("III.7.38", "omega", "4*pi*mom*B/h", uniform("mom B h"), "omega*h-4*pi*mom*B"),
    Formula(
        "III.10.19",
        "E",
        "mom*sqrt(Bx**2+By**2+Bz**2)",
        uniform("mom Bx By Bz"),
        "E**2-mom**2*(Bx**2+By**2+Bz**2)",
    ),
    Formula("III.12.43", "J", "n*h/(2*pi)", uniform("n h"), "2*pi*J-n*h"),
    Formula("III.13.18", "v", "4*pi*E*d**2*k/h", uniform("E d k h"), "v*h-4*pi*E*d**2*k"),
    Formula("III.15.14", "m", "h**2/(8*pi**2*E*d**2)", uniform("h E d"), "8*pi**2*m*E*d**2-h**2"),
    Formula("III.15.27", "k", "2*pi*alpha/(n*d)", uniform("alpha n d"), "k*n*d-2*pi*alpha"),
    Formula(
        "III.19.51",
        "E",
        "-m*q**4/(2*(4*pi*epsilon)**2*h**2)/n**2*4*pi**2",
        uniform("m q h n epsilon"),
        "8*E*epsilon**2*h**2*n**2+m*q**4",
    ),
    Formula("III.21.20", "j", "-rho*q*A/m", uniform("rho q A m"), "j*m+rho*q*A"),
]
