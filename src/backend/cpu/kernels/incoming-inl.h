// The gradient that reaches a norm, from the tensors and vectors of which it is made.
#if defined(CNNTRAIN_CPU_INCOMING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CNNTRAIN_CPU_INCOMING_INL_H_
#undef CNNTRAIN_CPU_INCOMING_INL_H_
#else
#define CNNTRAIN_CPU_INCOMING_INL_H_
#endif

#include <hwy/highway.h>

#include "backend/cpu/kernels/strips-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {

/// dy * gate + spread * share + dy2, in one vector of lanes. `Rows` has these as pointers, of which all but dy may be
/// null; gate and spread are the same in all rows.
template <typename Extent, typename Rows> class Incoming {
public:
    HWY_INLINE Incoming(const Extent& extent, const Rows& rows, std::int64_t lane)
        : extent_(extent),
          rows_(rows),
          is_scaled_(rows.gate != nullptr || rows.spread != nullptr),
          gate_(hn::Set(FloatTag(), 1.0F)),
          addend_(hn::Zero(FloatTag())) {
        if (rows.gate != nullptr) gate_ = extent.load_from(rows.gate + lane);
        if (rows.spread != nullptr)
            addend_ = hn::Mul(extent.load_from(rows.spread + lane), hn::Set(FloatTag(), rows.share));
    }
    HWY_INLINE Floats at(const Place& place) const {
        Floats dy = load_in_strip(extent_, rows_.dy, place);
        if (is_scaled_) dy = hn::MulAdd(dy, gate_, addend_);
        return rows_.dy2 == nullptr ? dy : hn::Add(dy, load_in_strip(extent_, rows_.dy2, place));
    }

private:
    const Extent& extent_;
    const Rows& rows_;
    bool is_scaled_;
    Floats gate_, addend_;
};

}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
