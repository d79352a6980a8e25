"""Kokoro's parameters out of files made here in the exporter's naming, with integers whose floats are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from convert.kokoro.weights import _folded_weight_norm, _module_of_node, load_weights
from edge_tts.errors import BundleError, MissingExtraError

onnx = pytest.importorskip("onnx", reason="the convert extra is not installed")
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(11)
HIDDEN, N_IN = 3, 5


def model_file(path: Path, nodes: list[onnx.NodeProto], constants: dict[str, np.ndarray]) -> Path:
    """An ONNX file of these nodes; nothing runs it, so what joins them is left out."""
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    graph = helper.make_graph(nodes, "kokoro", [x], [x], tensors)
    path.write_bytes(helper.make_model(graph).SerializeToString())
    return path


def integers(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, shape, dtype=np.uint8)


def test_an_integer_convolution_becomes_float(tmp_path: Path) -> None:
    w = integers(4, 2, 3)
    node = helper.make_node(
        "ConvInteger", ["x", "w1_quantized", "x_zero", "w1_zero_point"], ["y"], name="/decoder/decoder/encode/conv1/Conv_quant"
    )
    bias = np.arange(4, dtype=np.float32)
    constants = {
        "w1_quantized": w, "w1_scale": np.float32(0.02), "w1_zero_point": np.uint8(131),
        "decoder.decoder.encode.conv1.bias": bias,
    }  # fmt: skip
    weights = load_weights(model_file(tmp_path / "m.onnx", [node], constants))
    assert sorted(weights) == ["decoder.encode.conv1.bias", "decoder.encode.conv1.weight"]
    np.testing.assert_allclose(weights["decoder.encode.conv1.weight"], (w.astype(float) - 131) * 0.02, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(weights["decoder.encode.conv1.bias"], bias)
    assert all(value.dtype == np.float32 for value in weights.values())


def test_an_integer_matrix_is_transposed_and_may_have_a_scale_a_column(tmp_path: Path) -> None:
    w = integers(N_IN, 4).astype(np.int8)
    scale, zero = np.array([0.1, 0.2, 0.3, 0.4], np.float32), np.zeros(4, np.int8)
    node = helper.make_node(
        "MatMulInteger", ["x", "w2_quantized", "x_zero", "w2_zero_point"], ["y"], name="/encoder/bert_encoder/MatMul_quant"
    )
    constants = {"w2_quantized": w, "w2_scale": scale, "w2_zero_point": zero}
    weights = load_weights(model_file(tmp_path / "m.onnx", [node], constants))
    np.testing.assert_allclose(weights["bert_encoder.weight"], (w * scale).T, rtol=1e-6)


def test_a_looked_up_embedding_becomes_float(tmp_path: Path) -> None:
    table = integers(7, 4)
    stem = "encoder.text_encoder.embedding.weight"
    gather = helper.make_node("Gather", [f"{stem}_quantized", "ids"], ["rows"], name="/encoder/text_encoder/embedding/Gather")
    node = helper.make_node("DequantizeLinear", ["rows", f"{stem}_scale", f"{stem}_zero_point"], ["y"], name="dequantize")
    constants = {f"{stem}_quantized": table, f"{stem}_scale": np.float32(0.5), f"{stem}_zero_point": np.uint8(128)}
    weights = load_weights(model_file(tmp_path / "m.onnx", [gather, node], constants))
    np.testing.assert_array_equal(weights["text_encoder.embedding.weight"], (table.astype(np.float32) - 128) * 0.5)


def test_float_layers_are_taken_as_they_are(tmp_path: Path) -> None:
    matrix, kernel = RNG.standard_normal((2, N_IN, 4)).astype(np.float32)[0], RNG.standard_normal((4, 2, 3)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["y"], name="/encoder/bert_encoder/MatMul"),
        helper.make_node("ConvTranspose", ["x", "w2"], ["z"], name="/decoder/decoder/generator/ups.0/ConvTranspose"),
    ]
    weights = load_weights(model_file(tmp_path / "m.onnx", nodes, {"w1": matrix, "w2": kernel}))
    np.testing.assert_array_equal(weights["bert_encoder.weight"], matrix.T)
    np.testing.assert_array_equal(weights["decoder.generator.ups.0.weight"], kernel)


def by_onnx_gates(gates: dict[str, np.ndarray]) -> np.ndarray:
    """ONNX: input, output, forget, cell."""
    return np.concatenate([gates[gate] for gate in "iofc"])


def by_torch_gates(gates: dict[str, np.ndarray]) -> np.ndarray:
    """PyTorch: input, forget, cell, output."""
    return np.concatenate([gates[gate] for gate in "ifco"])


@pytest.mark.parametrize("quantized", [True, False], ids=["integers", "floats"])
def test_lstm_gates_are_put_in_pytorchs_order(tmp_path: Path, quantized: bool) -> None:
    directions = 2
    scale, zero = np.array([0.5, 0.25], np.float32), np.array([100, 120], np.uint8)
    parts: dict[str, list[dict[str, np.ndarray]]] = {"w": [], "r": [], "bw": [], "br": []}
    for _ in range(directions):
        parts["w"].append({gate: integers(HIDDEN, N_IN) for gate in "ifco"})
        parts["r"].append({gate: integers(HIDDEN, HIDDEN) for gate in "ifco"})
        parts["bw"].append({gate: RNG.standard_normal(HIDDEN).astype(np.float32) for gate in "ifco"})
        parts["br"].append({gate: RNG.standard_normal(HIDDEN).astype(np.float32) for gate in "ifco"})
    rows = {kind: np.stack([by_onnx_gates(gates) for gates in parts[kind]]) for kind in ("w", "r")}  # [directions, 4 hidden, in]
    bias = np.stack(
        [np.concatenate([by_onnx_gates(bw), by_onnx_gates(br)]) for bw, br in zip(parts["bw"], parts["br"], strict=True)]
    )
    name = "/encoder/predictor/lstm/LSTM"
    if quantized:
        node = helper.make_node(
            "DynamicQuantizeLSTM",
            ["x", "w_quantized", "r_quantized", "b", "", "", "", "", "w_scale", "w_zero_point", "r_scale", "r_zero_point"],
            ["y"], name=f"{name}_quant", domain="com.microsoft", hidden_size=HIDDEN, direction="bidirectional",
        )  # fmt: skip
        constants = {
            "w_quantized": rows["w"].swapaxes(1, 2), "w_scale": scale, "w_zero_point": zero,
            "r_quantized": rows["r"].swapaxes(1, 2), "r_scale": scale, "r_zero_point": zero, "b": bias,
        }  # fmt: skip
    else:
        node = helper.make_node("LSTM", ["x", "w", "r", "b"], ["y"], name=name, hidden_size=HIDDEN, direction="bidirectional")
        constants = {"w": rows["w"].astype(np.float32), "r": rows["r"].astype(np.float32), "b": bias}
        scale, zero = np.ones(2, np.float32), np.zeros(2, np.uint8)
    weights = load_weights(model_file(tmp_path / "m.onnx", [node], constants))
    for d, suffix in enumerate(("_l0", "_l0_reverse")):
        for kind, official in (("w", "weight_ih"), ("r", "weight_hh")):
            wanted = (by_torch_gates(parts[kind][d]).astype(np.float32) - zero[d]) * scale[d]
            np.testing.assert_array_equal(weights[f"predictor.lstm.{official}{suffix}"], wanted)
        np.testing.assert_array_equal(weights[f"predictor.lstm.bias_ih{suffix}"], by_torch_gates(parts["bw"][d]))
        np.testing.assert_array_equal(weights[f"predictor.lstm.bias_hh{suffix}"], by_torch_gates(parts["br"][d]))


@pytest.mark.parametrize(
    ("node", "module"),
    [
        ("/decoder/decoder/encode/conv1/Conv_quant", "decoder.encode.conv1"),
        ("/encoder/F0.0/conv1/Conv_quant", "predictor.F0.0.conv1"),
        ("/encoder/N_proj/Conv", "predictor.N_proj"),
        ("/encoder/shared/LSTM_quant", "predictor.shared"),
        ("/encoder/text_encoder/cnn.0/cnn.0.0/Conv_quant", "text_encoder.cnn.0.0"),
        ("/encoder/bert/encoder/albert_layer_groups.0/albert_layers.0/attention/query_11/MatMul_quant",
         "bert.encoder.albert_layer_groups.0.albert_layers.0.attention.query"),
        ("/encoder/bert/encoder/albert_layer_groups.0/albert_layers.0/ffn_output_3/MatMul_quant",
         "bert.encoder.albert_layer_groups.0.albert_layers.0.ffn_output"),
        ("/decoder/decoder/generator/noise_res.0/adain1.2/fc/Gemm_MatMul_quant", "decoder.generator.noise_res.0.adain1.2.fc"),
        ("/Reshape_3", None),
        ("", None),
    ],
)  # fmt: skip
def test_a_nodes_name_tells_its_module(node: str, module: str | None) -> None:
    assert _module_of_node(node) == module


def test_weight_norm_is_folded() -> None:
    g, v = RNG.standard_normal((4, 1, 1)).astype(np.float32), RNG.standard_normal((4, 2, 3)).astype(np.float32)
    bias = np.ones(4, np.float32)
    folded = _folded_weight_norm({"conv.weight_g": g, "conv.weight_v": v, "conv.bias": bias})
    assert sorted(folded) == ["conv.bias", "conv.weight"]
    for row in range(4):
        np.testing.assert_allclose(folded["conv.weight"][row], g[row] * v[row] / np.linalg.norm(v[row]), rtol=1e-5)


def test_a_checkpoint_is_read_with_its_weight_norm_folded(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    g, v, bias = torch.rand(4, 1, 1), torch.randn(4, 2, 3), torch.randn(4)
    state = {f"module.encode.conv1.{name}": value for name, value in (("weight_g", g), ("weight_v", v), ("bias", bias))}
    torch.save({"decoder": state, "bert": {"module.x.weight": torch.ones(2, dtype=torch.float16)}}, tmp_path / "m.pth")
    weights = load_weights(tmp_path / "m.pth")
    assert sorted(weights) == ["bert.x.weight", "decoder.encode.conv1.bias", "decoder.encode.conv1.weight"]
    np.testing.assert_allclose(weights["decoder.encode.conv1.weight"], torch._weight_norm(v, g).numpy(), rtol=1e-5)


@pytest.mark.parametrize("data", [b"x", b"PK\x03\x04 no zip at all", b"\x80\x02}q\x00."], ids=["letter", "zip", "pickle"])
def test_a_damaged_checkpoint_is_an_error_that_names_it(tmp_path: Path, data: bytes) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    (tmp_path / "m.pth").write_bytes(data)
    with pytest.raises(BundleError, match=r"m\.pth"):
        load_weights(tmp_path / "m.pth")


def test_a_checkpoint_without_pytorch_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    (tmp_path / "m.pth").write_bytes(b"x")
    with pytest.raises(MissingExtraError, match=r"pip install 'edge-tts-openvino\[convert-cosyvoice\]'"):
        load_weights(tmp_path / "m.pth")


@pytest.mark.parametrize("size", [0, 1, 100, -1])
def test_a_file_cut_short_is_an_error_that_names_it(tmp_path: Path, size: int) -> None:
    node = helper.make_node("MatMul", ["x", "w1"], ["y"], name="/encoder/bert_encoder/MatMul")
    path = model_file(tmp_path / "m.onnx", [node], {"w1": np.ones((50, 40), np.float32)})
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(BundleError, match=r"m\.onnx"):
        load_weights(path)


def test_a_file_of_something_else_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(RNG.bytes(5000))
    with pytest.raises(BundleError, match=r"m\.onnx"):
        load_weights(tmp_path / "m.onnx")
    other = model_file(tmp_path / "other.onnx", [helper.make_node("Relu", ["x"], ["y"], name="relu")], {})
    with pytest.raises(BundleError, match=r"other\.onnx: no parameters of Kokoro"):
        load_weights(other)


def test_a_missing_file_and_an_unknown_kind_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no such file of weights"):
        load_weights(tmp_path / "nothing.onnx")
    (tmp_path / "m.safetensors").write_bytes(b"x")
    with pytest.raises(BundleError, match=r"expected the model as \.onnx or \.pth"):
        load_weights(tmp_path / "m.safetensors")
