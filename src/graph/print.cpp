// Graphs as text, for logs and for tests that fail.
#include <sstream>

#include "cnntrain/graph/graph.h"

namespace cnntrain::graph {

namespace {

/// Collects "key value" items, leaving out what has its usual value.
class AttrText {
public:
    template <typename T> void item(std::string_view key, const T& value, const T& usual = {}) {
        if (value == usual) return;
        text_ << (text_.tellp() == 0 ? "" : ", ") << key << " " << value;
    }
    void flag(std::string_view key, bool value) {
        if (value) text_ << (text_.tellp() == 0 ? "" : ", ") << key;
    }
    void type(std::string_view key, DType type) { item(key, name(type)); }
    void shape(std::string_view key, const Shape& shape) {
        if (!shape.empty()) item(key, to_string(shape));
    }
    void padding(const Padding& p) {
        if (p == Padding{}) return;
        std::ostringstream sides;
        sides << p.top << "/" << p.bottom << "/" << p.left << "/" << p.right;
        item("padding", sides.str());
    }
    std::string str() const { return text_.str(); }

private:
    std::ostringstream text_;
};

std::string_view name(Activation activation) {
    return activation == Activation::swish ? "swish" : "relu";
}

void describe(AttrText& /*text*/, const NoAttrs& /*attrs*/) {}
void describe(AttrText& text, const ConstantAttrs& a) {
    text.item("value", std::to_string(a.value));
}
void describe(AttrText& text, const CastAttrs& a) {
    text.type("to", a.type);
}
void describe(AttrText& text, const NormaliseImageAttrs& a) {
    text.type("to", a.type);
}
void describe(AttrText& text, const ConvAttrs& a) {
    text.item("stride", a.stride, std::int64_t{1});
    text.padding(a.padding);
    text.item("groups", a.groups, std::int64_t{1});
    text.flag("bias", a.bias);
    text.flag("residual", a.residual);
    text.flag(name(a.activation), a.activation != Activation::none);
    text.shape("result", a.result_shape);
}
void describe(AttrText& text, const PoolAttrs& a) {
    text.item("kernel", a.kernel);
    text.item("stride", a.stride, std::int64_t{1});
    text.padding(a.padding);
}
void describe(AttrText& text, const ResultAttrs& a) {
    text.item("result", to_string(a.desc));
}
void describe(AttrText& text, const ShortcutPadAttrs& a) {
    text.item("stride", a.stride, std::int64_t{1});
    text.item("channels", a.channels);
    text.shape("result", a.input_shape);
}
void describe(AttrText& text, const RandomScaleAttrs& a) {
    text.item("keep", a.keep);
    text.flag("per sample", a.per_sample);
    text.item("site", static_cast<std::int64_t>(a.site));
}
void describe(AttrText& text, const NormAttrs& a) {
    text.item("epsilon", a.epsilon);
    text.item("groups", a.groups);
    text.flag("residual", a.residual);
    text.flag(name(a.activation), a.activation != Activation::none);
    text.flag("summed gradient", a.summed_gradient);
}
void describe(AttrText& text, const StandardiseAttrs& a) {
    text.flag("mean", a.mean);
    text.flag("scale", a.scale);
}
void describe(AttrText& text, const ProxyNormAttrs& a) {
    text.flag(name(a.activation), true);
    text.item("epsilon", a.epsilon);
    text.item("weight decay", a.weight_decay);
    text.shape("rows", a.rows);
}
void describe(AttrText& /*text*/, const DenseAttrs& /*attrs*/) {}
void describe(AttrText& text, const SoftmaxAttrs& a) {
    text.item("label smoothing", a.label_smoothing);
}
void describe(AttrText& text, const MixImagesAttrs& a) {
    text.flag("mixup", a.mixup);
    text.item("cutmix distance", a.cutmix_distance);
}
void describe(AttrText& text, const MixedTargetsAttrs& a) {
    text.item("label smoothing", a.label_smoothing);
    text.shape("distances", a.distances);
}
void describe(AttrText& text, const UpdateAttrs& a) {
    text.item("gradient scale", a.gradient_scale, 1.0);
    text.item("weight decay", a.weight_decay);
    text.item("learning rate scale", a.learning_rate_scale, 1.0);
    text.item("momentum", a.momentum);
}
void describe(AttrText& text, const RmsPropAttrs& a) {
    describe(text, a.update);
    text.item("decay", a.decay);
    text.item("epsilon", a.epsilon);
}
void describe(AttrText& text, const LarsAttrs& a) {
    describe(text, a.update);
    text.item("trust scale", a.trust_scale);
    text.item("LARS weight decay", a.weight_decay);
    text.item("epsilon", a.epsilon);
    text.flag("skipped", !a.adapts);
}
void describe(AttrText& text, const MovingAverageAttrs& a) {
    text.item("decay", a.decay);
    text.item("value scale", a.value_scale, 1.0);
}
void describe(AttrText& text, const FoldNormAttrs& a) {
    text.item("epsilon", a.epsilon);
    text.type("to", a.type);
}

std::string attrs_text(const Attrs& attrs) {
    AttrText text;
    std::visit([&](const auto& a) { describe(text, a); }, attrs);
    const std::string items = text.str();
    return items.empty() ? "" : " {" + items + "}";
}

std::string value_text(const Graph& graph, ValueId id) {
    const Value& value = graph.value(id);
    return value.role == Role::intermediate ? "%" + std::to_string(id.index) : value.name;
}

template <typename Range, typename Text> std::string joined(const Range& range, Text text) {
    std::string all;
    for (const auto& item : range)
        all += (all.empty() ? "" : ", ") + text(item);
    return all;
}

std::string node_text(const Graph& graph, const Node& node) {
    const auto value = [&](ValueId id) { return value_text(graph, id); };
    const auto desc = [&](ValueId id) { return to_string(graph.desc(id)); };
    std::string line;
    if (!node.outputs.empty()) line += joined(node.outputs, value) + " = ";
    line += std::string(graph.def(node).name) + "(" + joined(node.inputs, value) + ")" + attrs_text(node.attrs);
    if (!node.outputs.empty()) line += " : " + joined(node.outputs, desc);
    line += "  # " + node.name;
    if (node.phase == Phase::backward) line += ", backward";
    if (node.phase == Phase::update) line += ", update";
    if (node.stage.index != 0) line += ", stage " + std::to_string(node.stage.index);
    if (node.recomputed) line += ", recomputed";
    return line + "\n";
}

}  // namespace

std::string Graph::to_text() const {
    std::string text;
    for (const Node& n : nodes_)
        text += node_text(*this, n);
    for (const Output& output : outputs_)
        text += "output " + output.name + " = " + value_text(*this, output.value) + "\n";
    return text;
}

}  // namespace cnntrain::graph
