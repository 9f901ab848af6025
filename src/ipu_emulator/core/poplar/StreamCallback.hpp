#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace poplar {

/// The host's end of a stream. For each transfer to the device the engine takes data that prefetch() has delivered
/// before, else calls fetch(); then it calls complete().
class StreamCallback {
public:
    enum class Result { Success, NotAvailable };

    virtual ~StreamCallback() = default;
    /// Fills in the buffer ahead of its use if data is at hand.
    virtual Result prefetch(void* buffer) = 0;
    /// Fills in (host to device) or consumes (device to host) the buffer.
    virtual void fetch(void* buffer) = 0;
    /// The device has taken the buffer that was filled in earliest.
    virtual void complete() = 0;
    /// Buffers that were prefetched but not completed are dropped: the source goes back to the first of them.
    virtual void invalidatePrefetched() {}
};

/// The argument of connectStreamToCallback(): a StreamCallback, or a function that fills in or consumes the buffer.
class StreamCallbackHandle {
public:
    StreamCallbackHandle(std::unique_ptr<StreamCallback> callback) : callback_(std::move(callback)) {}
    template <class Callback, class = std::enable_if_t<std::is_base_of_v<StreamCallback, Callback>>>
    StreamCallbackHandle(std::unique_ptr<Callback> callback) : callback_(std::move(callback)) {}
    template <class Function, class = std::enable_if_t<std::is_invocable_v<Function&, void*>>, class = void>
    StreamCallbackHandle(Function function) : callback_(std::make_unique<Plain>(std::move(function))) {}

    std::unique_ptr<StreamCallback> takeCallback() { return std::move(callback_); }

private:
    struct Plain : StreamCallback {
        explicit Plain(std::function<void(void*)> f) : function(std::move(f)) {}
        Result prefetch(void*) override { return Result::NotAvailable; }
        void fetch(void* buffer) override { function(buffer); }
        void complete() override {}
        std::function<void(void*)> function;
    };

    std::unique_ptr<StreamCallback> callback_;
};

}  // namespace poplar
