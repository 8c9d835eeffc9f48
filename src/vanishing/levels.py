"""The few numbers that the whole package shares, each with its reason."""

#: Relative rounding error of a short sum in double precision: four units in the last place.
ROUNDING = 2.0**-50
#: Half of the digits of double precision. Two numbers that agree to this are the same for anybody
#: who reads them, and what depends on their squares is the same to the last digit.
SAME = 2.0**-26
#: How often chance may look like a finding: once in a thousand times, which is ten bits.
CHANCE = 2.0**-10
#: Standard deviations from which a value is not noise: a normal variable exceeds them less than
#: once in a million rows.
OUTLYING = 5.0
#: Parts of the rows, each of which is held out in turn: the usual number, with which most rows are
#: fitted to.
FOLDS = 5
#: Numbers that are worked on at a time: 16 MB in double precision, the cache of a processor.
BLOCK = 2**21
#: Bytes that the matrices or the rows of one step may take: what any machine has to spare.
MEMORY = 2**31
#: Rounding errors are assumed to be at most this many times their estimate: six bits.
SAFETY = 64.0
#: Relative rounding error of a long sum in double precision: of a million terms, whose errors add
#: up like a random walk to a thousand times those of a short sum.
LONG_SUM = 2.0**-40
#: Relative difference of numbers that are the same to people: nine digits. Few tables have more,
#: and the ten digits of a time in seconds are told apart.
SAME_NUMBER = 1e-9
#: Noise, in units of the spread of what is described, with which an equation says nothing about it.
UNINFORMATIVE = 0.3
#: Digits that people write: further ones are rounding errors of what was computed before.
SIGNIFICANT_DIGITS = 12
#: Digits that tell every number in double precision from its neighbors.
ALL_DIGITS = 17
