#include <algorithm>
#include <cstring>

#include <poplar/exceptions.hpp>

#include "ipu_emulator/model/machine.h"

namespace ipu_emulator {

using Result = poplar::StreamCallback::Result;

StreamPort::StreamPort(const Stream& stream, bool prefetch)
    : handle_(stream.stream.handle()),
      bytes_(stream.stream.numElements() * type_size(stream.stream.elementType())),
      depth_(prefetch && stream.to_device ? stream.buffering_depth : 0),
      replicas_(stream.stream.replicationFactor()),
      queues_(replicas_ + 1),
      buffer_(std::make_unique<std::byte[]>(bytes_)) {}

void StreamPort::connect(std::byte* begin, std::byte* end) {
    if (end < begin + bytes_) {
        throw poplar::stream_connection_error("Engine::connectStream: the stream \"" + handle_ + "\" moves " +
                                              std::to_string(bytes_) + " bytes at once; the memory has " +
                                              std::to_string(end - begin));
    }
    for (Queue& queue : queues_)
        queue = {};
    begin_ = begin;
    end_ = end;
    next_ = begin;
}

void StreamPort::connect(unsigned replica, std::unique_ptr<poplar::StreamCallback> callback) {
    if (replica >= replicas_) {
        throw poplar::stream_connection_error("Engine::connectStreamToCallback: the stream \"" + handle_ + "\" has " +
                                              std::to_string(replicas_) + " replicas, there is no replica " +
                                              std::to_string(replica));
    }
    connect_queue(replica, std::move(callback));
}

void StreamPort::connect_queue(std::size_t number, std::unique_ptr<poplar::StreamCallback> callback) {
    begin_ = nullptr;
    if (number == replicas_) {
        for (Queue& other : queues_)
            other = {};
    }
    Queue& queue = queues_[number];
    queue = {};
    queue.callback = std::move(callback);
    for (std::size_t i = 0; i < std::max<std::size_t>(depth_, 1); ++i)
        queue.buffers.push_back(std::make_unique<std::byte[]>(bytes_));
}

StreamPort::Queue& StreamPort::queue(unsigned replica) {
    if (queues_[replica].callback != nullptr) return queues_[replica];
    if (queues_[replicas_].callback != nullptr) return queues_[replicas_];
    throw poplar::stream_connection_error("Engine::run: the stream \"" + handle_ + "\" of replica " +
                                          std::to_string(replica) + " is not connected; call Engine::connectStream");
}

bool StreamPort::prefetch_one(Queue& queue) {
    std::byte* buffer = queue.buffers[(queue.first + queue.filled) % queue.buffers.size()].get();
    if (queue.callback->prefetch(buffer) != Result::Success) return false;
    ++queue.filled;
    return true;
}

const std::byte* StreamPort::fetch(unsigned replica) {
    if (begin_ != nullptr) {
        if (next_ + bytes_ > end_) next_ = begin_;
        const std::byte* data = next_;
        next_ += bytes_;
        return data;
    }
    Queue& from = queue(replica);
    const bool ready = from.filled != 0 || (depth_ != 0 && prefetch_one(from));
    std::byte* data = from.buffers[from.first].get();
    if (!ready) {
        from.callback->fetch(data);
        from.filled = 1;
    }
    return data;
}

void StreamPort::finish(unsigned replica) {
    if (begin_ != nullptr) return;
    Queue& from = queue(replica);
    from.callback->complete();
    from.first = (from.first + 1) % from.buffers.size();
    --from.filled;
    while (from.filled < depth_ && prefetch_one(from)) {
    }
}

void StreamPort::deliver(unsigned replica, const std::byte* data) {
    if (begin_ != nullptr) {
        if (next_ + bytes_ > end_) next_ = begin_;
        std::memcpy(next_, data, bytes_);
        next_ += bytes_;
        return;
    }
    Queue& to = queue(replica);
    std::memcpy(to.buffers.front().get(), data, bytes_);
    to.callback->fetch(to.buffers.front().get());
    to.callback->complete();
}

void StreamPort::drop_prefetched() {
    for (Queue& queue : queues_) {
        if (queue.filled == 0) continue;
        queue.callback->invalidatePrefetched();
        queue.filled = 0;
    }
}

}  // namespace ipu_emulator
