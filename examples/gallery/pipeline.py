# %% [markdown]
# # A pipeline, and a search without true labels
# `GridSearchCV` scores by the covering rate: how often the prediction is among the candidates.

# %%
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from surelabel import SUREClassifier, make_partial

X, y = load_digits(return_X_y=True)
X, y = X[:600] / 16, y[:600]
candidates = make_partial(y, p=0.8, r=2, random_state=0)

# %%
pipeline = make_pipeline(PCA(), SUREClassifier(lam=0.1))
grid = {"pca__n_components": [5, 20, 40], "sureclassifier__beta": [0.01, 0.1]}
folds = KFold(3, shuffle=True, random_state=0)  # scikit-learn does not shuffle by itself
search = GridSearchCV(pipeline, grid, cv=folds).fit(X, candidates)
print(search.best_params_)
print(f"in the candidates: {search.best_score_:.1%}")
