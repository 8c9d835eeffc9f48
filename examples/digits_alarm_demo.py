"""An alarm explained: what makes an odd digit anomalous for a detector that knows even ones.

Run with ``make demo``. Prints what it finds and writes demo_output/digits_alarm.png.
"""

from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from vanishing import TransformationDetector
from vanishing.datasets import load_digits_images
from vanishing.plotting import ExplanationDisplay
from vanishing.transformations import Rotations

OUTPUT = Path("demo_output")
CONTAMINATION = 0.05  # share of the training images that the threshold calls anomalous


def place(pixel, width):
    """Say where a pixel is, counted from the top left corner."""
    return f"row {pixel // width + 1}, column {pixel % width + 1}"


def print_explanation(explanation, width):
    """Print the pixels that add most to the score, and the equations that are broken most."""
    fixed = f"{explanation.counterfactual_score:.1f} with the suggested fix"
    print(f"  score {explanation.score:.1f}, and {fixed}")
    for pixel in np.argsort(-explanation.attribution)[:3]:
        print(
            f"  the pixel in {place(pixel, width)} adds {explanation.attribution[pixel]:.1f}: "
            f"its ink is {explanation.sample[pixel]:.2f} and would be "
            f"{explanation.counterfactual[pixel]:.2f}"
        )
    for equation in explanation.equations:
        print(
            f"  an equation of the images {equation.part} is {equation.times_typical:.0f} times "
            "as far off as usual"
        )


def main():
    digits = load_digits_images()
    normal = digits.train_images[digits.train_labels % 2 == 0]
    is_even = digits.test_labels % 2 == 0
    detector = TransformationDetector(
        Rotations(image_shape=digits.image_shape),
        preprocessor=PCA(12, random_state=0),
        contamination=CONTAMINATION,
    ).fit(normal)
    scores = detector.score_samples(digits.test_images)
    is_alarm = detector.predict(digits.test_images) == -1
    print(
        f"A detector learns from {len(normal)} images of even digits and is shown {len(is_even)} "
        "new images.\n"
        f"  AUC, even against odd   {roc_auc_score(is_even, scores):.3f}\n"
        f"  alarms, odd digits      {is_alarm[~is_even].mean():.3f}   (never seen before)\n"
        f"  alarms, even digits     {is_alarm[is_even].mean():.3f}   (false alarms)"
    )

    worst = int(np.argmin(scores))
    explanation = detector.explain(digits.test_images[[worst]], n_equations=3)[0]
    print(f"\nThe worst alarm is an image of a {digits.test_labels[worst]}:")
    print_explanation(explanation, width=digits.image_shape[1])

    OUTPUT.mkdir(exist_ok=True)
    display = ExplanationDisplay.from_explanation(explanation, image_shape=digits.image_shape)
    display.figure_.savefig(OUTPUT / "digits_alarm.png", dpi=150)
    print(f"\nPicture: {OUTPUT / 'digits_alarm.png'}")


if __name__ == "__main__":
    main()
