"""The operators of random vertex functions, one entry each.

An entry is the source of an expression. Its fields are drawn when it is used:

  {x}       float rows of any rank              {y}       rows, a weight or a number to go with {x}
  {s}       rows of the shape of {x}            {v}, {m}, {t}   float rows of rank 1, 2, 3
  {u}       rows of the shape of {v}            {d}       rows of rank 1 or more
  {full}    rows of rank 2 with elements
  {i}       integers, one per row               {b}       booleans, [1] per row
  {axis}    an axis of {d} other than that of rows
  {c}       a number, sometimes large or small  {n}       a small size
  {kernel}  a weight [width of {v}, n]          {square}  a weight [width of {v}, width of {v}]
  {vector}  a weight [width of {v}]             {scalar}  a weight []
  {table}   a weight [NUM_IDS, n]               {k}, {flag}   a captured integer, a captured bool

`D` is the type of floats and `P` its name. A layer is written as `{layer:...}`: it is made
in the constructor and called here. Other entries are functions of a `Draw`. A result that
is not finite or is too large is dropped by the generator, so entries need not be careful
about magnitudes, only about poles and roots.
"""

NUM_IDS = 5

ELEMENTWISE = {
    name: f"tf.{source}"
    for name, source in {
        "abs": "abs({x})",
        "acos": "acos(0.5 * tf.tanh({x}))",
        "acosh": "acosh(1.5 + tf.square({x}))",
        "asin": "asin(0.5 * tf.tanh({x}))",
        "asinh": "asinh({x})",
        "atan": "atan({x})",
        "atanh": "atanh(0.5 * tf.tanh({x}))",
        "ceil": "math.ceil({x}) * 0.125",
        "check_numerics": "debugging.check_numerics({x}, 'x')",
        "clip": "clip_by_value({x}, -0.5, 0.75)",
        "cos": "cos({x})",
        "cosh": "cosh({x})",
        "cube": "pow({x}, 3.0)",
        "digamma": "math.digamma(1.0 + tf.square({x}))",
        "elu": "nn.elu({x})",
        "erf": "math.erf({x})",
        "erfc": "math.erfc({x})",
        "erfcinv": "math.erfcinv(1.0 + 0.5 * tf.tanh({x}))",
        "erfinv": "math.erfinv(0.5 * tf.tanh({x}))",
        "exp": "exp({x})",
        "expm1": "math.expm1({x})",
        "floor": "floor({x}) * 0.125",
        "gelu": "nn.gelu({x})",
        "gelu_erf": "nn.gelu({x}, approximate=False)",
        "identity": "identity({x})",
        "is_finite": "cast(tf.math.is_finite({x}), D) * 0.5",
        "leaky_relu": "nn.leaky_relu({x}, 0.125)",
        "lgamma": "math.lgamma(1.0 + tf.square({x}))",
        "log": "math.log(0.5 + tf.square({x}))",
        "log1p": "math.log1p(tf.abs({x}))",
        "log_sigmoid": "math.log_sigmoid({x})",
        "ndtri": "math.ndtri(tf.sigmoid({x}))",
        "negative": "negative({x})",
        "polyval": "math.polyval([tf.constant(0.5, D), {scalar}], {x})",
        "reciprocal": "math.reciprocal(1.0 + tf.square({x}))",
        "reciprocal_no_nan": "math.reciprocal_no_nan(1.5 + tf.sin({x}))",
        "relu": "nn.relu({x})",
        "relu6": "nn.relu6({x})",
        "rint": "math.rint({x}) * 0.125",
        "round": "round({x}) * 0.125",
        "rsqrt": "math.rsqrt(0.5 + tf.square({x}))",
        "selu": "nn.selu({x})",
        "sigmoid": "sigmoid({x})",
        "sign": "sign({x})",
        "silu": "nn.silu({x})",
        "sin": "sin({x})",
        "sinh": "sinh({x})",
        "softplus": "math.softplus({x})",
        "softsign": "nn.softsign({x})",
        "sqrt": "sqrt(0.5 + tf.square({x}))",
        "square": "square({x})",
        "stop_gradient": "stop_gradient({x})",
        "tan": "tan(0.5 * tf.tanh({x}))",
        "tanh": "tanh({x})",
        "zeros_like": "zeros_like({x}) + {y}",
        "ones_like": "ones_like({x}) * {y}",
        "fill_rows": "fill(tf.shape({x}), tf.constant(0.5, D)) + {y}",
        "bessel_i0e": "math.bessel_i0e({x})",
        "bessel_i1e": "math.bessel_i1e(0.5 + tf.square({x}))",  # Its derivative has 1 / x.
        "cast_double": "cast(tf.cast({x}, tf.float64) * 0.75, D)",
        "cast_single": "cast(tf.cast({x}, tf.float32) * 0.75, D)",
        "cast_integer": "cast(tf.cast(4.0 * {x}, tf.int32) // 3, D) * 0.25",
        "recompute": "recompute_grad(lambda a: tf.tanh(a) * 0.5)({x})",
        "custom_gradient": "custom_gradient(lambda a: (a * a, lambda g: 0.5 * g))({x})",
        "nested_function": "function(lambda a: tf.sin(a) * 0.5)({x})",
        "scalar_weight": "tanh({x}) * {scalar}",
        "scale": "multiply({x}, {c})",
        "shift": "add({x}, {c})",
        "hard_sigmoid": "keras.activations.hard_sigmoid({x})",
        "mish": "keras.activations.mish({x})",
        "add": "add({x}, {y})",
        "add_n": "add_n([{x}, {s}, {x}])",
        "atan2": "math.atan2({x}, 1.5 + tf.sin({y}))",
        "complex_abs": "cast(tf.abs(tf.complex(tf.cast({x}, tf.float32), 1.0)), D)",
        "div": "divide({x}, 1.0 + tf.square({y}))",
        "div_no_nan": "math.divide_no_nan({x}, 1.5 + tf.cos({y}))",
        "equal": "cast(tf.equal(tf.round({x}), tf.round({y})), D)",
        "floordiv": "math.floordiv({x}, 1.5 + tf.cos({y})) * 0.125",
        "floormod": "math.floormod({x}, 1.5 + tf.cos({y}))",
        "igamma": "math.igamma(1.0 + tf.square(tf.tanh({x})), 1.0 + tf.square(tf.tanh({s})))",
        "logical": "cast(tf.math.logical_xor({x} > 0.25, {s} < 0.125), D)",
        "maximum": "maximum({x}, {y})",
        "minimum": "minimum({x}, {y})",
        "multiply": "multiply({x}, {y})",
        "multiply_no_nan": "math.multiply_no_nan({x}, 0.5 * {s})",
        "pow": "pow(0.5 + tf.abs({x}), tf.tanh({y}))",
        "squared_difference": "math.squared_difference({x}, {y})",
        "subtract": "subtract({x}, {y})",
        "truncatemod": "stop_gradient(tf.truncatemod({x}, 1.5 + tf.cos({s})))",
        "where": "where({x} > {s}, {x}, 0.5 * {s})",
        "where_constant": "where({x} > 0.25, {x} * 0.5, 0.125)",
        "where_row": "where({i} % 2 == 0, {v}[:, 0], 0.5)",
        "xdivy": "math.xdivy({x}, 1.5 + tf.cos({y}))",
        "xlog1py": "math.xlog1py({x}, tf.square({s}))",
        "xlogy": "math.xlogy({x}, 0.5 + tf.square({s}))",
    }.items()
}

REDUCTIONS = {
    name: f"tf.{source}"
    for name, source in {
        "reduce_sum": "reduce_sum({d}, {axis})",
        "reduce_sum_keepdims": "reduce_sum({d}, {axis}, keepdims=True)",
        "reduce_sum_subtract": "subtract({d}, tf.reduce_sum({d}, {axis}, keepdims=True))",
        "reduce_mean": "reduce_mean({d}, {axis})",
        "reduce_mean_centre": "subtract({d}, tf.reduce_mean({d}, {axis}, keepdims=True))",
        "reduce_mean_all": "reduce_mean({m}, [1, 2])",
        "reduce_max": "reduce_max({d}, {axis})",
        "reduce_max_divide": "divide({d}, 1.0 + tf.reduce_max(tf.abs({d}), {axis}, keepdims=True))",
        "reduce_min": "reduce_min({d}, {axis})",
        "reduce_prod": "reduce_prod(tf.tanh({d}), {axis})",
        "reduce_any": "cast(tf.reduce_any({d} > 0.5, {axis}), D)",
        "reduce_all": "cast(tf.reduce_all({d} > -0.5, {axis}), D)",
        "reduce_logsumexp": "reduce_logsumexp({d}, {axis})",
        "reduce_std": "math.reduce_std({d} + {vector_of_d}, {axis}) * 0.5",
        "reduce_variance": "math.reduce_variance({d}, {axis})",
        "reduce_euclidean": "math.reduce_euclidean_norm({d} + {vector_of_d}, {axis})",
        "norm": "norm({d} + {vector_of_d}, axis={axis}, keepdims=True)",
        "count_nonzero": "cast(tf.math.count_nonzero({d} > 0.0, {axis}), D) * 0.25",
        "argmax": "cast(tf.argmax({d}, {axis}), D) * 0.125",
        "argmin": "cast(tf.argmin({d}, {axis}, output_type=tf.int32), D) * 0.125",
        "argmax_one_hot": "multiply({v}, tf.one_hot(tf.argmax({v}, 1), {v.width}, dtype=D))",
        "moments": "add(*tf.nn.moments({d}, [{axis}], keepdims=True))",
        "zero_fraction": "reduce_mean(tf.cast({d} > 0.25, D), {axis})",
        "cumsum": "cumsum({d}, {axis})",
        "cumsum_exclusive": "cumsum({d}, {axis}, exclusive=True, reverse=True)",
        "cumprod": "math.cumprod(0.5 + tf.sigmoid({d}), {axis})",
        "cumulative_logsumexp": "math.cumulative_logsumexp({d}, {axis})",
        "softmax": "nn.softmax({d}, {axis})",
        "log_softmax": "nn.log_softmax({d}, {axis})",
        "l2_normalize": "math.l2_normalize({d} + {vector_of_d}, {axis})",
        "clip_by_norm": "clip_by_norm({d} + {vector_of_d}, 0.5, axes=[{axis}])",
        "sparsemax_like": "nn.relu({v} - tf.sort({v}, direction='DESCENDING')[:, :1] + 0.5)",
        "layer_norm_by_hand": "nn.batch_normalization({d}, *tf.nn.moments({d}, [{axis}], "
        "keepdims=True), None, None, 0.5)",
        "sort": "sort({d}, {axis})",
        "sort_descending": "sort({v}, direction='DESCENDING')",
        "argsort": "gather({v}, tf.argsort({v}), batch_dims=1)",
        "top_k": "math.top_k({v}, min(2, {v.width}))[0]",
        "top_k_gather": "gather({v}, tf.math.top_k({u}, min(2, {v.width})).indices, batch_dims=1)",
        "softmax_cross_entropy": "nn.softmax_cross_entropy_with_logits("
        "tf.stop_gradient(tf.nn.softmax({v})), {v})",
        "sparse_cross_entropy": "nn.sparse_softmax_cross_entropy_with_logits({i} % {v.width}, {v})",
        "sigmoid_cross_entropy": "nn.sigmoid_cross_entropy_with_logits(tf.sigmoid({s}), {x})",
        "in_top_k": "cast(tf.math.in_top_k({i} % {v.width}, tf.cast({v}, tf.float32), 1), D)",
        "l2_loss_rows": "reduce_sum(tf.square({d}), {axis}) * 0.5",
    }.items()
}

SHAPES = {
    name: f"tf.{source}"
    for name, source in {
        "flatten": "reshape({d}, [-1, {d.width}])",
        "reshape_like": "reshape({d}, tf.shape({d}))",
        "reshape_rows": "reshape({d}, [tf.shape({d})[0], {d.width}])",
        "reshape_fold": "reshape({d}, {folded})",
        "expand_dims": "expand_dims({d}, {axis})",
        "expand_last": "expand_dims({x}, -1)",
        "squeeze": "squeeze(tf.reduce_sum({d}, {axis}, keepdims=True), {axis})",
        "transpose": "transpose({m}, [0, 2, 1])",
        "matrix_transpose": "linalg.matrix_transpose({m})",
        "transpose_3": "transpose({t}, [0, 3, 1, 2])",
        "transpose_twice": "transpose(tf.transpose({v}) * 0.5)",
        "concat": "concat([{v}, {u}], 1)",
        "concat_weight": "concat([{v}, tf.tile({vector}[None], [tf.shape({v})[0], 1])], 1)",
        "concat_axis": "concat([{d}, 0.5 * {d}], {axis})",
        "stack": "stack([{x}, {s}], 1)",
        "stack_last": "stack([{x}, {s}, {x}], -1)",
        "unstack": "add_n(tf.unstack({m}, axis=1))",
        "split": "math.maximum(*tf.split(tf.concat([{v}, {u}], 1), 2, axis=1))",
        "split_uneven": "split({v}, [{v.width} - {v.width} // 2, {v.width} // 2], 1)[0]",
        "split_empty": "split({v}, [0, {v.width}], 1)[1]",
        "slice": "slice({v}, [0, {v.width} // 3], [-1, {v.width} - {v.width} // 3])",
        "tile": "tile({m}, [1, 2, 1])",
        "repeat": "repeat({v}, 2, axis=1)",
        "broadcast_to": "broadcast_to({v}[:, None], [tf.shape({v})[0], 2, {v.width}])",
        "pad": "pad({v}, [[0, 0], [1, 2]])",
        "pad_value": "pad({v}, [[0, 0], [0, 1]], constant_values=0.5)",
        "mirror_pad": "pad({v}, [[0, 0], [{v.width} - 1, 0]], 'REFLECT')",
        "roll": "roll({d}, 1, {axis})",
        "reverse": "reverse({d}, [{axis}])",
        "gather_columns": "gather({v}, [0, {v.width} - 1, 0], axis=1)",
        "boolean_columns": "boolean_mask({v}, [k % 2 == 0 for k in range({v.width})], axis=1)",
        "zeros": "zeros([tf.shape({v})[0], {n}], D) + {v}[:, :1]",
        "ones_rows": "ones([tf.shape({v})[0], 2], D) * {v}[:, -1:]",
        "range": "multiply({v}, tf.cast(tf.range({v.width}), D) * 0.25)",
        "linspace": "multiply({v}, tf.cast(tf.linspace(0.0, 1.0, {v.width}), D))",
        "band_part": "linalg.band_part({m}, 1, 0)",
        "diag": "linalg.diag({v})",
        "diag_part": "linalg.diag_part({m})",
        "trace": "linalg.trace({m})",
        "meshed": "reshape({v}[:, :, None] + {u}[:, None, :], [-1, {v.width} ** 2])",
        "space": "reshape(tf.transpose(tf.reshape({v}, [-1, {v.width}, 1]), [0, 2, 1]), "
        "[-1, {v.width}])",
        "scatter_columns": "transpose(tf.scatter_nd([[0], [2]], tf.transpose({v})[:1] + "
        "tf.zeros([2, 1], D), [3, tf.shape({v})[0]]))",
        "segment_columns": "ensure_shape(tf.transpose(tf.math.segment_sum(tf.transpose({v}), "
        "[k // 2 for k in range({v.width})])), [None, ({v.width} + 1) // 2])",
        "unsorted_segment_columns": "transpose(tf.math.unsorted_segment_sum(tf.transpose({v}), "
        "[k % 2 for k in range({v.width})], 2))",
        "invert_permutation": "gather({v}, tf.math.invert_permutation("
        "list(reversed(range({v.width})))), axis=1)",
        "crelu": "nn.crelu({v})",
        "where_index": "gather({v}, tf.where([True, False])[:, 0], axis=1)",
        "sequence_mask": "multiply({v}, tf.sequence_mask({i}, {v.width}, dtype=D))",
        "reverse_sequence": "reverse_sequence({v}, {i} % ({v.width} + 1), seq_axis=1)",
    }.items()
}
SHAPES |= {
    "strided": "{v}[:, {stride}]",
    "strided_inner": "{m}[:, {stride}, :]",
    "column": "{v}[:, 0]",
    "last_column": "{v}[:, -1:]",
    "new_axes": "{v}[:, tf.newaxis, ..., None]",
    "empty_columns": "tf.concat([{v}, {u}[:, 1:1]], 1)",
    "sum_of_nothing": "{v} + tf.reduce_sum({u}[:, :0], 1, keepdims=True)",
}

PRODUCTS = {
    name: f"tf.{source}"
    for name, source in {
        "matmul": "matmul({v}, {kernel})",
        "matmul_gates": "multiply(tf.sigmoid(tf.matmul({v}, {square})), "
        "tf.tanh(tf.matmul({v}, {square2})))",
        "matmul_sum": "add(tf.matmul({v}, {square}), tf.matmul({u}, {square2}))",
        "matmul_shared": "matmul(tf.tanh(tf.matmul({v}, {square})), {square}, transpose_b=True)",
        "matmul_twice": "matmul(tf.matmul({v}, {square}), {square})",
        "matmul_transposed": "matmul({v}, tf.transpose({square}))",
        "matmul_flipped": "transpose(tf.matmul({square}, {v}, transpose_b=True))",
        "matmul_softmaxed": "matmul({v}, tf.nn.softmax({square}))",
        "matmul_tril": "matmul({v}, tf.constant(np.tril(np.ones([{v.width}] * 2)), D)) * 0.25",
        "matmul_eye": "matmul({v}, tf.eye({v.width}, dtype=D))",
        "matmul_scaled": "matmul({v} * {c}, {kernel})",
        "matmul_big": "add({v}, tf.matmul({v}, tf.eye({v.width}, 65, dtype=D))[:, :1])",
        "batch_matmul": "matmul({m}, {m}, transpose_b=True)",
        "batch_matmul_weight": "matmul({m}, {kernel_of_m})",
        "attention": "matmul(tf.nn.softmax(tf.matmul({m}, {m}, transpose_b=True)), {m})",
        "additive_attention": "reduce_sum({m} * tf.nn.softmax(tf.reduce_sum("
        "tf.tanh(tf.matmul({m}, {kernel_of_m})), -1, keepdims=True), 1), 1)",
        "matvec": "linalg.matvec({square}, {v})",
        "matvec_rows": "linalg.matvec({m}, tf.reduce_sum({m}, 1))",
        "tensordot": "tensordot({v}, {kernel}, 1)",
        "tensordot_matrix": "tensordot({m}, {kernel_of_m}, [[2], [0]])",
        "outer": "einsum('bi,bj->bij', {v}, {u})",
        "einsum_dense": "einsum('bi,ij->bj', {v}, {kernel})",
        "einsum_ellipsis": "einsum('...i,ij->...j', {m}, {kernel_of_m})",
        "einsum_dot": "einsum('bi,bi->b', {v}, {u})",
        "einsum_bilinear": "einsum('bi,ij,bj->b', {v}, {square}, {u})",
        "einsum_transpose": "einsum('bij->bji', {m})",
        "einsum_trace": "einsum('bij,bij->bi', {m}, {m})",
        "bias_add": "nn.bias_add({v}, {vector})",
        "inner": "reduce_sum({v} * {u}, 1, keepdims=True)",
        "cosine": "reduce_sum(tf.math.l2_normalize({v} + {vector}, 1) * {u}, 1)",
        "conv1d": "nn.conv1d({full}, {filters}, 1, 'SAME')",
        "depthwise_conv": "nn.depthwise_conv2d({full}[:, :, None], {depthwise}, "
        "[1, 1, 1, 1], 'SAME')",
        "max_pool": "nn.max_pool1d({m}, 2, 1, 'SAME')",
        "avg_pool": "nn.avg_pool1d({m}, 2, 1, 'SAME')",
        "cholesky_solve": "linalg.cholesky(tf.matmul({m}, {m}, transpose_b=True) + "
        "4.0 * tf.eye({m.shape[0]}, dtype=D))",
        "inverse": "linalg.inv(4.0 * tf.eye({m.shape[0]}, dtype=D) + "
        "tf.matmul(tf.tanh({m}), tf.tanh({m}), transpose_b=True))",
        "solve": "linalg.solve(4.0 * tf.eye({m.shape[0]}, dtype=D) + "
        "tf.matmul(tf.tanh({m}), tf.tanh({m}), transpose_b=True), {m})",
        "determinant": "linalg.det(tf.eye({m.shape[0]}, dtype=D) + "
        "0.25 * tf.matmul(tf.tanh({m}), tf.tanh({m}), transpose_b=True))",
        "expm_weight": "matmul({v}, tf.linalg.expm(0.25 * {square}))",
    }.items()
}

LOOKUPS = {
    "gather_table": "tf.gather({table}, {i})",
    "embedding_lookup": "tf.nn.embedding_lookup({table}, {i})",
    "gather_shifted": "tf.gather({table}, tf.maximum({i} - 2, 0))",
    "gather_nd": "tf.gather_nd({table}, {i}[:, None])",
    "gather_nd_batch": "tf.gather_nd({v}, ({i} % {v.width})[:, None], batch_dims=1)",
    "gather_batch": "tf.gather({v}, {i} % {v.width}, batch_dims=1)",
    "take_along": "tf.experimental.numpy.take_along_axis({v}, ({i} % {v.width})[:, None], 1)",
    "one_hot": "tf.one_hot({i}, {n}, dtype=D)",
    "one_hot_matmul": "tf.matmul(tf.one_hot({i}, NUM_IDS, dtype=D), {table})",
    "id_arithmetic": "tf.cast(({i} * 3 + 1) // 2 % 7, D) * 0.125",
    "id_divides": "tf.cast(7 // tf.maximum({i}, 1), D) * 0.125",
    "id_bits": "tf.cast(tf.bitwise.bitwise_and({i}, 3), D) * 0.25",
    "ids_of_vertices": "tf.gather({table}, self.vertex_ids() % NUM_IDS)",
    "vertex_parity": "tf.cast(self.vertex_ids() % 2, D)",
    "select_table": "tf.where(({i} % 2 == 0)[:, None], {v}, 0.5 * {u})",
    "where_bool": "tf.where({b}, {v}, 0.5 * {u})",
    "bool_arithmetic": "tf.cast(tf.logical_not({b}), D) * 0.5 + {v}",
    "case_table": "tf.gather(tf.stack([{v}, 0.5 * {u}], 1), {i} % 2, batch_dims=1)",
    "searchsorted": "tf.cast(tf.searchsorted(tf.tile([[0.0, 1.0, 3.0]], [tf.shape({i})[0], 1]), "
    "tf.cast({i}, tf.float32)[:, None]), D) * 0.25",
    "searchsorted_in_one": "tf.cast(tf.searchsorted([0.0, 1.0, 3.0], "
    "tf.cast({i}, tf.float32)), D) * 0.25",
    "bincount_free": "tf.reduce_sum(tf.one_hot({i}, 3, dtype=D) * 0.5, 1)",
}

CONTROL = {
    "cond_weight": "tf.cond({scalar} > 0.0, lambda: tf.sin({x}), lambda: 0.5 * {x})",
    "cond_flag": "tf.cond({flag}, lambda: tf.tanh({x}), lambda: tf.cos({x}))",
    "cond_python": "(tf.sin if {n} > 2 else tf.cos)({x})",
    "while": "tf.while_loop(lambda i, a: i < 3, "
    "lambda i, a: (i + 1, tf.sin(a) + 0.125), (0, {x}))[1]",
    "while_weight": "tf.while_loop(lambda i, a: i < 2, "
    "lambda i, a: (i + 1, tf.tanh(tf.matmul(a, {square}))), (0, {v}))[1]",
    "while_captured": "tf.while_loop(lambda i, a: i < {k}, "
    "lambda i, a: (i + 1, tf.sin(a) + 0.125), (0, {x}))[1]",
    "switch_case": "tf.switch_case({k} % 2, [lambda: tf.sin({x}), lambda: tf.cos({x})])",
    "map_fn_columns": "tf.transpose(tf.map_fn(tf.sin, tf.transpose({v})))",
    "map_fn_weight": "tf.transpose(tf.map_fn(lambda a: a * {scalar}, tf.transpose({v})))",
    "map_fn_rows": "tf.map_fn(lambda a: a * tf.reduce_sum(a), {v})",
    "scan": "tf.transpose(tf.scan(lambda a, b: 0.5 * a + b, tf.transpose({v})))",
    "foldl": "tf.foldl(lambda a, b: tf.tanh(a + b), tf.transpose({v}))",
    "vectorized_map": "tf.vectorized_map(lambda a: a * tf.reduce_sum(a), {v})",
    "vectorized_matmul": "tf.vectorized_map("
    "lambda a: tf.linalg.matvec({square}, a, transpose_a=True), {v})",
    "recompute_weight": "tf.recompute_grad(lambda a: tf.tanh(a * {vector}))({v})",
    "nested_weight": "tf.function(lambda a: tf.tanh(tf.matmul(a, {kernel})))({v})",
    "gradient_free": "tf.stop_gradient({v}) * 0.5 + tf.tanh({u})",
    "python_loop": "tf.add_n([{x} * (k + 0.5) for k in range(3)])",
    "fixed_mask": "{v} * tf.nn.experimental.stateless_dropout("
    "tf.ones([1, {v.width}], D), 0.5, seed=[{n}, 2])",
    "asserted": "(tf.debugging.assert_greater({i}, -1), {x})[1] * 0.5",
}

# Sizes that are tensors are computed at run time, or refused with a message.
CAPTURED_SIZES = {
    "slice_by_captured": "tf.reduce_sum({v}[:, :{k}], 1)",
    "slice_from_captured": "tf.reduce_sum({v}[:, {k}:], 1)",
    "tf_slice_captured": "tf.reduce_sum("
    "tf.slice({v}, [0, 0], [-1, tf.minimum({k}, {v.width})]), 1)",
    "one_hot_captured": "tf.reduce_sum(tf.one_hot({i}, {k}, dtype=D), 1)",
    "tile_captured": "tf.reduce_sum(tf.tile({v}, [1, {k}]), 1)",
    "range_captured": "{v} * tf.cast(tf.reduce_sum(tf.range({k})), D) * 0.25",
    "size_of_where": "{v} * tf.cast(tf.size(tf.where({vector} > 0.0)), D) * 0.125",
    "size_of_unique": "{v} * tf.cast(tf.shape(tf.unique([1, {k}, 2]).y)[0], D) * 0.25",
    "transpose_captured": "tf.reduce_sum(tf.tile({v}[:, None], [1, {k}, 1]), 1)",
    "captured_arithmetic": "{x} * tf.cast({k} * 2 - 1, D) * 0.25",
    "captured_column": "tf.gather({v}, {k} % {v.width}, axis=1)",
    "top_captured": "tf.reduce_sum(tf.math.top_k({v}, tf.minimum({k}, {v.width}))[0], 1)",
}

LAYERS = {
    "dense": "{layer:Dense({n})}({v})",
    "dense_tanh": "{layer:Dense({n}, activation='tanh')}({v})",
    "dense_relu_twice": "{layer:Dense({n}, activation='relu')}({layer:Dense({n})}({v}))",
    "dense_matrix": "{layer:Dense({n})}({m})",
    "layer_normalization": "{layer:LayerNormalization()}({v} + {vector})",
    "rms_normalization": "{layer:RMSNormalization()}({v} + {vector})",
    "group_normalization": "{layer:GroupNormalization(1)}({m})",
    "unit_normalization": "{layer:UnitNormalization()}({v} + {vector})",
    "batch_normalization": "{layer:BatchNormalization()}({v}, training=False)",
    "embedding": "{layer:Embedding(NUM_IDS, {n})}({i})",
    "einsum_dense_layer": "{layer:EinsumDense('ab,bc->ac', {n}, bias_axes='c')}({v})",
    "prelu": "{layer:PReLU()}({v})",
    "activation_layer": "{layer:Activation('softmax')}({v})",
    "flatten_layer": "{layer:Flatten()}({m})",
    "permute": "{layer:Permute((2, 1))}({m})",
    "repeat_vector": "{layer:RepeatVector(2)}({v})",
    "reshape_layer": "{layer:Reshape((-1, 1))}({v})",
    "rescaling": "{layer:Rescaling(0.5, 0.25)}({v})",
    "concatenate": "{layer:Concatenate()}([{v}, {u}])",
    "dot_layer": "{layer:Dot(1)}([{v}, {u}])",
    "conv1d_layer": "{layer:Conv1D({n}, 2, padding='same')}({full})",
    "global_pooling": "{layer:GlobalAveragePooling1D()}({m})",
    "attention_layer": "{layer:Attention()}([{m}, {m}])",
    "multi_head": "{layer:MultiHeadAttention(2, 2)}({m}, {m})",
    "gru_cell": "{layer:GRUCell({n})}({v}, [{v}[:, :1] * tf.ones([1, {n}], D)])[0]",
    "lstm_cell": "{layer:LSTMCell({n})}({v}, [{v}[:, :1] * tf.ones([1, {n}], D)] * 2)[0]",
    "simple_rnn_cell": "{layer:SimpleRNNCell({n})}({v}, [{v}[:, :1] * tf.ones([1, {n}], D)])[0]",
    "lstm_layer": "{layer:LSTM(2)}({m})",
    "gru_layer": "{layer:GRU(2, return_sequences=True)}({m})",
    "masking_free_dropout": "{layer:Dropout(0.5)}({v}, training=False)",
    "add_layer": "{layer:Add()}([{x}, {s}])",
    "maximum_layer": "{layer:Maximum()}([{v}, {u}])",
    "leaky_relu_layer": "{layer:LeakyReLU()}({v})",
    "cropping": "{layer:UpSampling1D(2)}({m})",
}

OPERATORS = {
    **ELEMENTWISE,
    **REDUCTIONS,
    **SHAPES,
    **PRODUCTS,
    **LOOKUPS,
    **CONTROL,
    **CAPTURED_SIZES,
    **LAYERS,
}

# (weight, family) pairs.
FAMILIES = (
    (30, ELEMENTWISE),
    (13, REDUCTIONS),
    (18, SHAPES),
    (24, PRODUCTS),
    (7, LOOKUPS),
    (5, CONTROL),
    (1, CAPTURED_SIZES),
    (6, LAYERS),
)

# Operators in which rows depend on each other, which must be refused.
COUPLED = {
    "centre_rows": "{x} - tf.reduce_mean({x}, 0)",
    "divide_by_largest": "{x} / (1.0 + tf.reduce_max(tf.abs({x})))",
    "reverse_rows": "{v}[::-1] * 0.5 + {v}",
    "roll_rows": "tf.roll({x}, 1, 0) + {x}",
    "cumsum_rows": "tf.cumsum({x}, 0)",
    "sort_rows": "tf.sort({v}, 0)",
    "softmax_rows": "tf.nn.softmax({v}, 0)",
    "clip_by_norm_of_all": "tf.clip_by_norm({x} + 1.0, 0.5)",
    "cond_any": "tf.cond(tf.reduce_any({x} > 0.25), lambda: {x} * 2.0, lambda: {x})",
    "cond_count": "tf.cond(tf.shape({x})[0] > 1, lambda: {x} * 2.0, lambda: {x})",
    "gram": "tf.matmul({v}, tf.matmul({v}, {u}, transpose_a=True)) + {v}",
    "number_of_rows": "{x} * tf.cast(tf.shape({x})[0], D)",
    "position_of_row": "{v} + tf.cast(tf.range(tf.shape({v})[0]), D)[:, None]",
    "batch_statistics": "{layer:BatchNormalization()}({v}, training=True)",
    "first_row": "{v} - {v}[:1]",
    "dot_with_others": "tf.nn.softmax(tf.matmul({v}, {v}, transpose_b=True)) @ {v}",
    "while_any": "tf.while_loop(lambda a: tf.reduce_any(a > 0.5), lambda a: (a * 0.5,), ({x},))[0]",
    "whole_norm": "{x} / (1.0 + tf.norm({x}))",
    "mixed_reshape": "tf.reshape(tf.transpose({v}), tf.shape({v})) + {v}",
    "segment_rows": "tf.gather(tf.math.unsorted_segment_sum({v}, {i}, NUM_IDS), {i})",
}

# Between rows of vertices and rows of edges: a template, and whether its operand and its result
# have rows of edges.
CROSSINGS = {
    "to_children": ("self.to_children({x})", False, True),
    "sum_children": ("self.sum_children({x})", True, False),
    "mean_children": ("self.mean_children({x})", True, False),
    "max_children": ("self.max_children({x})", True, False),
    "softmax_children": ("self.softmax_children({x})", True, True),
    "num_children": (
        "{x} * tf.reshape(tf.cast(self.num_children(), D), "
        "tf.concat([[-1], tf.ones([tf.rank({x}) - 1], tf.int32)], 0))",
        False,
        False,
    ),
}
