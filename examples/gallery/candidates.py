# %% [markdown]
# # From candidate sets to labels
# Handwritten digits with five possible labels each. PURE finds the right one, and a classifier.

# %%
from sklearn.datasets import load_digits

from surelabel import PUREClassifier, make_partial

X, y = load_digits(return_X_y=True)
old, new = slice(0, 1200), slice(1200, None)
candidates = make_partial(y[old], p=0.9, r=4, random_state=0)
print(candidates)
for labels in candidates[:3].to_lists():
    print("one of", *labels)

# %%
model = PUREClassifier().fit(X[old], candidates)
print(f"labels found: {(model.transduction_ == y[old]).mean():.1%}")
print(f"new images: {model.score(X[new], y[new]):.1%}")
