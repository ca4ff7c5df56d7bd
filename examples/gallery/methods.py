# %% [markdown]
# # All methods on one data set
# Glass, with a false candidate in seven of ten rows. Five-fold accuracy on left-out rows.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from surelabel import all_methods, make_partial
from surelabel.data.catalog import load

data = load("glass")
X, y = data.X, data.y
candidates = make_partial(y, p=0.7, r=1, random_state=0)
names = ["PURE", "SURE", "PLKNN", "CLPL", "IPAL", "PLSVM", "PALOC"]
accuracy = dict.fromkeys(names, 0.0)
for train, test in KFold(5, shuffle=True, random_state=0).split(X):
    for name in names:
        model = make_pipeline(StandardScaler(), all_methods()[name].estimator())
        accuracy[name] += model.fit(X[train], candidates[train]).score(X[test], y[test]) / 5
for name in sorted(names, key=accuracy.get, reverse=True):
    print(f"{name:6} {accuracy[name]:.3f}")

# %%
figure, axes = plt.subplots(figsize=(5, 2.4), layout="constrained")
axes.barh(names[::-1], [accuracy[name] for name in names[::-1]])
axes.set(xlabel="accuracy", xlim=(np.min(list(accuracy.values())) - 0.1, None))
plt.show()
