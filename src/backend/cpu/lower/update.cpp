// Parameter updates: one sweep over parameter, gradient and slots, all in the layout of the gradient.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <type_traits>

#include "backend/cpu/kernels/tiles.h"
#include "backend/cpu/lower/layout_copy.h"
#include "backend/cpu/lower/node_context.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"

namespace cnntrain::cpu {

using graph::MovingAverageAttrs;
using graph::UpdateAttrs;
using graph::ValueId;

namespace {

struct UpdateOperands {
    Placed parameter, gradient;
    std::int64_t count = 0;
};

/// The parameter is kept in its gradient's layout if that layout exists for its type. Otherwise both are row-major,
/// as for rules that distinguish columns.
UpdateOperands place_update(const NodeContext& lower, bool row_by_row) {
    const ValueId parameter = lower.node.inputs[0];
    const ValueId gradient = lower.node.inputs[1];
    UpdateOperands at;
    const Placed as_it_lies = row_by_row ? lower.values.operand_as(gradient, row_major(lower.graph.desc(gradient)),
                                                                   "blocks of columns have norms of their own")
                                         : lower.values.operand(gradient);
    at.parameter = lower.weights.master(parameter, with_type(as_it_lies.desc, lower.graph.desc(parameter).dtype));
    at.gradient = as_it_lies;
    if (with_type(at.parameter.desc, DType::f32) != as_it_lies.desc) {
        const auto wanted = with_type(at.parameter.desc, DType::f32);
        CNNTRAIN_CHECK(wanted.has_value(), "a parameter lies in an unnamed layout: " + lower.node.name);
        at.gradient = lower.values.operand_as(gradient, *wanted, "the gradient's layout has no 16-bit form");
    }
    at.count = static_cast<std::int64_t>(at.parameter.desc.get_size() / size_bytes(at.parameter.dtype));
    return at;
}

/// The scalars that an update reads.
struct UpdateScalars {
    Placed learning_rate, step, loss_scaling;
    Placed gradient_factor = {};  // of a scaled update

    static double value(const Placed& scalar) { return static_cast<double>(*scalar.as<float>()); }
};

UpdateFactors factors_of(const UpdateAttrs& attrs, const UpdateScalars& scalars) {
    const double step = UpdateScalars::value(scalars.step);
    const double gradient_factor = scalars.gradient_factor ? UpdateScalars::value(scalars.gradient_factor) : 1;
    const double gradient_scale = attrs.gradient_scale * gradient_factor / UpdateScalars::value(scalars.loss_scaling);
    const double rate = UpdateScalars::value(scalars.learning_rate) * attrs.learning_rate_scale;
    const auto correction = [&](double decay) { return bias_correction(attrs, decay, step); };
    return {.gradient_scale = static_cast<float>(gradient_scale),
            .weight_decay = static_cast<float>(attrs.weight_decay),
            .rate = static_cast<float>(rate * step_correction(attrs, step)),
            .momentum = static_cast<float>(attrs.momentum),
            .decay = static_cast<float>(attrs.decay),
            .epsilon = static_cast<float>(attrs.epsilon),
            .rule_weight_decay = static_cast<float>(attrs.rule_weight_decay),
            .mean_correction = static_cast<float>(correction(attrs.momentum)),
            .square_correction = static_cast<float>(correction(attrs.decay))};
}

/// The iteration is filled in by each step.
Rounding rounding_of(const NodeContext& lower) {
    return {.stochastic = lower.request.runtime.stochastic_rounding, .seed = lower.request.runtime.seed};
}

std::uint64_t name_hash(const NodeContext& lower, ValueId variable) {
    return hash_text(lower.graph.value(variable).name);
}

/// Inputs of an update node.
constexpr std::size_t kTarget = 0;
constexpr std::size_t kLearningRate = 2;
constexpr std::size_t kStep = 3;
constexpr std::size_t kLossScaling = 4;
constexpr std::size_t kGradientFactor = 5;  // of a scaled update; the slots follow it, or begin here

template <typename From, typename To> void convert(std::int64_t count, const From* from, To* to) {
    if constexpr (std::is_same_v<From, To>) {
        std::copy_n(from, count, to);
    } else {
        cast(count, from, to);
    }
}

/// Sums over ranks may be a little longer than the parameter.
GradientExchange::Piece piece_within(const GradientExchange::Piece& piece, std::int64_t count) {
    const std::int64_t begin = std::min(piece.begin, count);
    return {begin, std::min(piece.begin + piece.count, count) - begin};
}

/// An optimiser's update of a parameter, or of this rank's piece of it.
template <typename T> struct ParameterUpdate {
    UpdateAttrs attrs;
    UpdateOperands at;
    std::vector<Placed> slots;
    UpdateRounding rounding;
    UpdateScalars scalars = {};
    ColumnBlocks columns = {};                       // of a matrix whose blocks have trusts of their own
    GradientExchange* exchange = nullptr;            // set: of a piece
    std::size_t sum = 0;                             // whose piece it is
    std::optional<Weights::TileCopies> copies = {};  // of the parameter, made on the way

    GradientExchange::Piece range() const {
        if (exchange == nullptr) return {0, at.count};
        return piece_within(exchange->own_piece(sum), at.count);
    }
    UpdateTensors<T> tensors(std::int64_t begin) const {
        UpdateTensors<T> result{.target = at.parameter.as<T>() + begin, .gradient = at.gradient.as<float>() + begin};
        for (std::size_t i = 0; i < slots.size(); ++i)
            result.slots[i] = slots[i].template as<T>();  // slots have the piece alone
        return result;
    }
    UpdateRounding rounding_at(const StepContext& context, std::int64_t begin) const {
        UpdateRounding result = rounding;
        result.how.iteration = context.iteration;
        result.first_element = begin;
        return result;
    }

    SquareSums norms(const StepContext& context, std::span<float> scratch) const {
        const auto [begin, count] = range();
        return update_norms(attrs.rule, count, tensors(begin), factors_of(attrs, scalars), rounding_at(context, begin),
                            scratch);
    }
    void run(const StepContext& context, double trust) const {
        const auto [begin, count] = range();
        UpdateFactors factors = factors_of(attrs, scalars);
        factors.rate = static_cast<float>(static_cast<double>(factors.rate) * trust);
        if constexpr (std::is_same_v<T, float>) {
            if (copies) return run_with_copies(context, factors);
        }
        update(attrs.rule, count, tensors(begin), factors, rounding_at(context, begin));
    }
    void run_with_copies(const StepContext& context, const UpdateFactors& factors) const {
        const RightPanels<float> panels = both_tiles(at.parameter, copies->right, copies->turned);
        update_blocks(attrs.rule, panels.rows, panels.columns, kTileBlock, tensors(0), factors, rounding_at(context, 0),
                      [&](const MatrixBlock& block) { copy_to_right_panels(panels, block); });
    }
    void run_columns(const StepContext& context, std::span<float> scratch, std::span<SquareSums> sums,
                     std::span<UpdateFactors> factors) const {
        const UpdateRounding how = rounding_at(context, 0);
        std::ranges::fill(factors, factors_of(attrs, scalars));
        column_norms(attrs.rule, columns, tensors(0), factors[0], how, scratch, sums);
        for (std::size_t i = 0; i < sums.size(); ++i) {
            const double rate = static_cast<double>(factors[i].rate) * trust(sums[i].target, sums[i].other);
            factors[i].rate = static_cast<float>(rate);
        }
        update_columns<T>(attrs.rule, columns, tensors(0), factors, how);
    }
    double trust(double target_squares, double other_squares) const {
        return trust_ratio(attrs, std::sqrt(target_squares), std::sqrt(other_squares));
    }

    /// publish() copies this rank's piece of the parameter to the memory that the ranks share, collect() copies all
    /// pieces from there.
    void publish() const {
        const auto [begin, count] = range();
        convert(count, at.parameter.as<T>() + begin, at.gradient.as<float>() + begin);
    }
    void collect() const { convert(at.count, at.gradient.as<float>(), at.parameter.as<T>()); }
};

/// The copies that products read are made while the new values are in the caches.
template <typename T> void add_whole_update(const NodeContext& lower, ParameterUpdate<T> update,
                                            const std::vector<Placed>& reads, std::vector<Placed> writes) {
    update.copies = lower.weights.take_tile_copies(lower.node.inputs[kTarget]);
    if (update.copies) writes.insert(writes.end(), {update.copies->right, update.copies->turned});
    const auto scratch = lower.steps.scratch_floats(update_scratch_floats(update.attrs.rule, update.at.count));
    lower.steps.add("kernel", reads, writes, [=](const StepContext& context) {
        double trust = 1;
        if (facts_of(update.attrs.rule).has_trust()) {
            const SquareSums sums = update.norms(context, scratch());
            trust = update.trust(sums.target, sums.other);
        }
        update.run(context, trust);
    });
}

template <typename T> void add_column_update(const NodeContext& lower, const ParameterUpdate<T>& update,
                                             const std::vector<Placed>& reads, const std::vector<Placed>& writes) {
    const auto scratch = lower.steps.scratch_floats(column_scratch_floats(update.columns));
    const auto blocks = static_cast<std::size_t>(update.columns.blocks);
    lower.steps.add("kernel", reads, writes,
                    [=, sums = std::vector<SquareSums>(blocks), factors = std::vector<UpdateFactors>(blocks)](
                        const StepContext& context) mutable { update.run_columns(context, scratch(), sums, factors); });
}

/// Norms are over the whole parameter, so updates of pieces wait for the norms of all ranks.
template <typename T> void add_sharded_update(const NodeContext& lower, const ParameterUpdate<T>& update,
                                              const std::vector<Placed>& reads, const std::vector<Placed>& writes) {
    GradientExchange* const exchange = update.exchange;
    exchange->shard(
        update.sum, update.at.parameter.dtype, [update] { update.publish(); }, [update] { update.collect(); });
    if (!facts_of(update.attrs.rule).has_trust()) {
        lower.steps.add("kernel", reads, writes, [=](const StepContext& context) { update.run(context, 1); });
        return;
    }
    const auto scratch = lower.steps.scratch_floats(update_scratch_floats(update.attrs.rule, update.at.count));
    lower.steps.add("kernel", reads, writes, [=](const StepContext& context) {
        const SquareSums own = update.norms(context, scratch());
        exchange->give_squares(update.sum, own.target, own.other);
    });
    lower.steps.add_late("kernel", reads, writes, [=](const StepContext& context) {
        const auto [target, other] = exchange->squares(update.sum);
        update.run(context, update.trust(target, other));
    });
}

ColumnBlocks column_blocks(const UpdateAttrs& attrs, const Shape& shape) {
    if (attrs.column_blocks == 1) return {};
    return {.rows = shape.at(0), .columns = shape.at(1), .blocks = attrs.column_blocks};
}

void lower_any_update(const NodeContext& lower, std::size_t first_slot) {
    const auto attrs = lower.node.as<UpdateAttrs>();
    const auto& inputs = lower.node.inputs;
    const ColumnBlocks columns = column_blocks(attrs, lower.graph.desc(inputs[kTarget]).shape);
    const UpdateOperands at = place_update(lower, columns.blocks > 1);
    const std::optional<std::size_t> sum = lower.sums.sharded_sum(inputs[1], at.gradient);
    if (sum && columns.blocks > 1) {
        throw Error(ErrorKind::unsupported, lower.graph.value(inputs[kTarget]).name +
                                                ": an optimiser's state that processes share needs queries, keys and "
                                                "values apart; use --use-qkv-split");
    }
    std::vector<Placed> slots;
    for (std::size_t i = first_slot; i < inputs.size(); ++i) {
        slots.push_back(sum ? lower.weights.sharded_slot(inputs[i], inputs[kTarget], *sum)
                            : lower.weights.slot_master(inputs[i], inputs[kTarget]));
    }
    UpdateRounding rounding{.how = rounding_of(lower), .target = name_hash(lower, inputs[kTarget])};
    if (slots.size() > 1) rounding.second_slot = name_hash(lower, inputs[first_slot + 1]);

    std::vector<Placed> reads = {at.parameter, at.gradient};
    std::vector<Placed> writes = {at.parameter};
    reads.insert(reads.end(), slots.begin(), slots.end());
    writes.insert(writes.end(), slots.begin(), slots.end());
    UpdateScalars scalars{lower.values.operand(inputs[kLearningRate]), lower.values.operand(inputs[kStep]),
                          lower.values.operand(inputs[kLossScaling])};
    if (first_slot > kGradientFactor)
        scalars.gradient_factor = reads.emplace_back(lower.values.operand(inputs[kGradientFactor]));
    with_float_type(at.parameter.dtype, [&]<typename T>() {
        const ParameterUpdate<T> update{
            attrs, at, slots, rounding, scalars, columns, sum ? lower.sums.exchange() : nullptr, sum.value_or(0)};
        if (columns.blocks > 1) {
            add_column_update(lower, update, reads, writes);
        } else if (sum) {
            add_sharded_update(lower, update, reads, writes);
        } else {
            add_whole_update(lower, update, reads, writes);
        }
    });
}

void lower_update(const NodeContext& lower) {
    lower_any_update(lower, kGradientFactor);
}

void lower_scaled_update(const NodeContext& lower) {
    lower_any_update(lower, kGradientFactor + 1);
}

/// A gradient that contributes to the norm of all. If processes share the optimiser's state, this one counts its
/// piece. Sums of squares are independent of the layout.
struct CountedGradient {
    Placed gradient;
    std::int64_t count = 0;
    std::optional<std::size_t> sum = {};  // whose piece it is
    bool is_squared = false;              // these are sums of its squares already

    double squares(const GradientExchange* exchange, std::span<float> scratch) const {
        if (is_squared) return std::accumulate(gradient.as<float>(), gradient.as<float>() + count, 0.0);
        if (!sum) return square_sum(count, gradient.as<float>(), scratch);
        const GradientExchange::Piece own = piece_within(exchange->own_piece(*sum), count);
        return square_sum(own.count, gradient.as<float>() + own.begin, scratch);
    }
};

void lower_gradient_factor(const NodeContext& lower) {
    const auto attrs = lower.node.as<graph::GradientFactorAttrs>();
    const ValueId output = lower.node.outputs[0];
    const Placed result = lower.values.define(output);
    GradientExchange* const exchange = lower.sums.exchange();
    const Placed loss_scaling = lower.values.operand(lower.node.inputs[0]);
    std::vector<Placed> reads;
    std::vector<CountedGradient> gradients;
    std::int64_t most = 0;
    for (const ValueId input : std::span(lower.node.inputs).subspan(1)) {
        const Placed squares = lower.sums.squares_of(input);
        const Placed gradient = reads.emplace_back(squares ? squares : lower.values.as_it_lies(input));
        const auto count = static_cast<std::int64_t>(gradient.desc.get_size() / sizeof(float));
        gradients.push_back({gradient, count, lower.sums.sharded_sum(input, gradient), static_cast<bool>(squares)});
        if (!squares) most = std::max(most, count);
    }
    const auto scratch = lower.steps.scratch_floats(square_scratch_floats(most));
    lower.steps.add("kernel", reads, {result}, [=](const StepContext&) {
        double whole = 0;
        double pieces = 0;
        for (const CountedGradient& counted : gradients)
            (counted.sum ? pieces : whole) += counted.squares(exchange, scratch());
        if (exchange != nullptr && exchange->shards()) pieces = exchange->sum_over_ranks(pieces);
        const double scaling = UpdateScalars::value(loss_scaling);
        *result.as<float>() = static_cast<float>(gradient_factor(attrs, (whole + pieces) / (scaling * scaling)));
    });
}

/// Master and copy have the same layout if the master's has a 16-bit form.
void lower_round_copy(const NodeContext& lower) {
    const ValueId parameter = lower.node.inputs[0];
    const ValueId source = lower.node.inputs[1];
    const Placed copy = lower.weights.master(
        parameter, with_type(lower.values.operand(source).desc, lower.graph.desc(parameter).dtype));
    const std::optional<Desc> as_floats = with_type(copy.desc, DType::f32);
    CNNTRAIN_CHECK(as_floats.has_value(), "a parameter lies in an unnamed layout: " + lower.node.name);
    const Placed master = lower.values.operand_as(source, *as_floats, "the master's layout has no 16-bit form");
    const auto count = static_cast<std::int64_t>(copy.desc.get_size() / sizeof(BFloat16));
    lower.steps.add("kernel", {master}, {copy}, [master, copy, count](const StepContext&) {
        cast(count, master.as<float>(), copy.as<BFloat16>());
    });
}

void lower_moving_average_update(const NodeContext& lower) {
    const auto& attrs = lower.node.as<MovingAverageAttrs>();
    const Placed moving = lower.weights.master(lower.node.inputs[0]);
    const Placed value = lower.values.operand(lower.node.inputs[1]);
    const UpdateRounding base{.how = rounding_of(lower), .target = name_hash(lower, lower.node.inputs[0])};
    const std::int64_t count = lower.graph.desc(lower.node.inputs[0]).elements();
    add_typed(lower, moving.dtype, "kernel", {moving, value}, {moving}, [=]<typename T>(const StepContext& context) {
        UpdateRounding rounding = base;
        rounding.how.iteration = context.iteration;
        moving_average_update(count, moving.as<T>(), value.as<float>(), attrs.decay, attrs.value_scale, rounding);
    });
}

}  // namespace

std::span<const LoweringEntry> update_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::update, lower_update},
        {graph::OpKind::scaled_update, lower_scaled_update},
        {graph::OpKind::gradient_factor, lower_gradient_factor},
        {graph::OpKind::moving_average_update, lower_moving_average_update},
        {graph::OpKind::round_copy, lower_round_copy},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
