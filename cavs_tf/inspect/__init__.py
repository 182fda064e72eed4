"""Tools that examine a model: how it runs, how much memory it takes, whether it is right."""

from cavs_tf.inspect import plot as plot
from cavs_tf.inspect import reference as reference
from cavs_tf.inspect._equivalence import Difference as Difference
from cavs_tf.inspect._equivalence import EquivalenceReport as EquivalenceReport
from cavs_tf.inspect._equivalence import check_equivalence as check_equivalence
from cavs_tf.inspect._explain import Explanation as Explanation
from cavs_tf.inspect._explain import explain as explain
from cavs_tf.inspect._memory import DirectionMemory as DirectionMemory
from cavs_tf.inspect._memory import MemoryPrediction as MemoryPrediction
from cavs_tf.inspect._memory import predict_memory as predict_memory
from cavs_tf.inspect._portable import export_portable as export_portable
