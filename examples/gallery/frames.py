# %% [markdown]
# # A data frame, with rows that have no label
# `surelabel.clean` does what the command does, and returns a frame of the same kind.

# %%
import numpy as np
from sklearn.datasets import load_iris

import surelabel

table = load_iris(as_frame=True).frame.sample(frac=1, random_state=0, ignore_index=True)
truth = np.array(["setosa", "versicolor", "virginica"])[table.pop("target")]
pairs = {
    "setosa": "setosa|virginica",
    "versicolor": "versicolor|virginica",
    "virginica": "virginica",
}
table["labels"] = [pairs[name] for name in truth]
table.loc[table.index % 4 == 0, "labels"] = truth[::4]  # these are certain
table.loc[table.index % 4 == 1, "labels"] = None  # nothing is known about these

# %%
cleaned = surelabel.clean(table, labels="labels").frame
print(cleaned[["labels", "label", "confidence", "status"]].head(6).to_string(index=False))
print(f"{(cleaned['label'] == truth).mean():.0%} right")
