// A server of HTTP on this machine that fails as it is told to.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cnntrain::test {

class HttpServer {
public:
    struct File {
        std::string content;
        std::string etag = "\"1\"";      // "": the server says none
        bool serves_parts = true;        // answers Range
        std::string moved_to = {};       // an address: the answer is a redirection
        std::size_t most_of_a_part = 0;  // 0: parts reach to the end; otherwise all answers are parts
        std::string answer = {};         // all bytes of the answer; "": it follows from the others
    };
    /// An answer fails in one of these ways.
    struct Failure {
        int status = 0;                             // instead of the content
        std::size_t cut_after = std::string::npos;  // bytes of the content, then the connection ends
        std::chrono::milliseconds silence{0};       // before the content
        bool lies_about_part = false;               // sends another one than it was asked for
    };

    HttpServer() {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const plain = reinterpret_cast<sockaddr*>(&address);
        const bool listens = ::bind(listener_, plain, size) == 0 && ::listen(listener_, 16) == 0 &&
                             ::getsockname(listener_, plain, &size) == 0;
        if (!listens) throw std::runtime_error("no port for a server");
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ~HttpServer() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    std::string address(const std::string& path) const { return "http://127.0.0.1:" + std::to_string(port_) + path; }
    void set(const std::string& path, File file) {
        const std::lock_guard lock(mutex_);
        files_[path] = std::move(file);
    }
    /// The next answers fail in these ways, one each.
    void fail(std::deque<Failure> failures) {
        const std::lock_guard lock(mutex_);
        failures_ = std::move(failures);
    }
    /// The heads of all requests.
    std::vector<std::string> requests() const {
        const std::lock_guard lock(mutex_);
        return requests_;
    }

private:
    static constexpr std::size_t kMostRequests = 1000;

    void serve() {
        for (;;) {
            const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            if (connection < 0) return;
            answer(connection);
            ::close(connection);
        }
    }

    static std::string head_of(int connection) {
        std::string head;
        char byte = 0;
        while (!head.ends_with("\r\n\r\n") && ::recv(connection, &byte, 1, 0) == 1)
            head += byte;
        return head;
    }

    static std::string value(const std::string& head, std::string_view name) {
        const std::size_t at = head.find(std::string(name) + ": ");
        if (at == std::string::npos) return "";
        const std::size_t begin = at + name.size() + 2;
        return head.substr(begin, head.find("\r\n", begin) - begin);
    }

    static void send_all(int connection, std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }

    void answer(int connection) {
        const std::string head = head_of(connection);
        const std::string path = head.substr(4, head.find(' ', 4) - 4);
        File file;
        Failure failure;
        bool known = false;
        {
            const std::lock_guard lock(mutex_);
            requests_.push_back(head);
            if (requests_.size() > kMostRequests) requests_.clear();
            const auto found = files_.find(path);
            known = found != files_.end();
            if (known) file = found->second;
            if (!failures_.empty()) {
                failure = failures_.front();
                failures_.pop_front();
            }
        }
        if (!known) failure.status = 404;
        if (failure.status != 0) return send_all(connection, headers(failure.status, 9) + "\r\na failure");
        if (!file.answer.empty()) return send_all(connection, file.answer);
        if (!file.moved_to.empty())
            return send_all(connection, headers(302, 0) + "Location: " + file.moved_to + "\r\n\r\n");

        const std::string range = value(head, "Range");
        const std::string condition = value(head, "If-Range");
        std::size_t first = 0;
        if (!range.empty() && file.serves_parts && (condition.empty() || condition == file.etag))
            first = std::stoul(range.substr(std::string("bytes=").size()));
        const std::size_t size = file.content.size();
        if (first > 0 && first >= size) {
            return send_all(connection,
                            headers(416, 0) + "Content-Range: bytes */" + std::to_string(size) + "\r\n\r\n");
        }
        if (failure.lies_about_part) first /= 2;
        const bool is_part = first > 0 || file.most_of_a_part > 0;
        const std::size_t end = file.most_of_a_part > 0 ? std::min(size, first + file.most_of_a_part) : size;
        std::string text = headers(is_part ? 206 : 200, end - first);
        if (is_part) {
            text += "Content-Range: bytes " + std::to_string(first) + "-" + std::to_string(end - 1) + "/" +
                    std::to_string(size) + "\r\n";
        }
        if (!file.etag.empty()) text += "ETag: " + file.etag + "\r\n";
        send_all(connection, text + "\r\n");
        std::this_thread::sleep_for(failure.silence);
        send_all(connection, std::string_view(file.content).substr(first, end - first).substr(0, failure.cut_after));
    }

    static std::string headers(int status, std::size_t length) {
        return "HTTP/1.1 " + std::to_string(status) +
               " Text\r\nConnection: close\r\nContent-Length: " + std::to_string(length) + "\r\n";
    }

    int listener_ = -1;
    std::uint16_t port_ = 0;
    mutable std::mutex mutex_;  // guards the following
    std::map<std::string, File> files_;
    std::deque<Failure> failures_;
    std::vector<std::string> requests_;
    std::thread thread_;
};

}  // namespace cnntrain::test
