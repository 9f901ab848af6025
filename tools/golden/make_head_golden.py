#!/usr/bin/env python3
"""Golden numbers for tests/golden/linear_head.json: multinomial logistic regression with L2 regularisation.

scikit-learn's LogisticRegression on features that both sides make for themselves, standardised. scikit-learn weighs
the sum of losses by C, so that C = 1 / (strength * rows). make_golden.py needs PyTorch, too.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

from golden_text import golden_text, write
from make_golden import noise

ROWS, WIDTH, CLASSES = 240, 48, 6
STRENGTHS = [10.0, 1.0, 0.1, 0.01, 0.001]


def features():
    """Class means, correlated features after a ReLU, and one feature that never changes."""
    labels = np.arange(ROWS) * 7 % 11 % CLASSES
    means = 0.6 * noise("head/means", CLASSES * WIDTH).reshape(CLASSES, WIDTH)
    mixed = noise("head/mixing", 8 * WIDTH).reshape(8, WIDTH)
    hidden = noise("head/hidden", ROWS * 8).reshape(ROWS, 8)
    values = means[labels] + hidden @ mixed + noise("head/noise", ROWS * WIDTH).reshape(ROWS, WIDTH)
    values = np.maximum(values, 0)
    values[:, WIDTH // 2] = 0.25
    return values.astype(np.float32).astype(np.float64), labels


def mean_loss(model, x, y):
    logits = x @ model.coef_.T + model.intercept_
    logits -= logits.max(1, keepdims=True)
    return -(logits[np.arange(len(y)), y] - np.log(np.exp(logits).sum(1))).mean()


if __name__ == "__main__":
    values, labels = features()
    deviation = values.std(0)
    x = (values - values.mean(0)) / np.where(deviation > 0, deviation, 1)
    results = []
    for strength in STRENGTHS:
        model = LogisticRegression(C=1 / (strength * ROWS), tol=1e-10, max_iter=100000).fit(x, labels)
        loss = mean_loss(model, x, labels)
        results.append({"strength": strength, "loss": loss,
                        "objective": loss + strength / 2 * (model.coef_ ** 2).sum(),
                        "accuracy": model.score(x, labels), "largest_weight": np.abs(model.coef_).max(),
                        "biases": list(model.intercept_)})
    write("linear_head.json", golden_text({"rows": ROWS, "width": WIDTH, "classes": CLASSES, "fits": results}))
