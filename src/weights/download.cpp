#include "weights/download.h"

#include <algorithm>
#include <thread>

#include "cnntrain/base/error.h"

namespace cnntrain::weights {

void pause_for(std::chrono::milliseconds time, const FetchHost& host) {
    constexpr std::chrono::milliseconds kStep{100};
    for (; time.count() > 0; time -= kStep) {
        if (host.stop_requested && host.stop_requested()) throw Interrupted();
        std::this_thread::sleep_for(std::min(time, kStep));
    }
}

}  // namespace cnntrain::weights

#ifdef CNNTRAIN_DOWNLOADS

#include <curl/curl.h>
#include <openssl/evp.h>
#include <array>
#include <charconv>
#include <exception>
#include <optional>
#include <string_view>

#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"

namespace cnntrain::weights {
namespace {

constexpr std::uint64_t kLongestFile = std::uint64_t{16} << 30;  // ends an answer that never ends
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;        // appended at a time
constexpr int kAttempts = 5;                                     // in a row without a byte
constexpr long kMostRedirections = 10;
constexpr long kConnectSeconds = 30;

constexpr long kOk = 200;
constexpr long kPartialContent = 206;
constexpr long kNotSatisfiable = 416;
constexpr long kTooManyRequests = 429;
constexpr long kServerErrors = 500;

/// The number after the last `before` in "bytes 200-1000/67589"; empty if there is none.
std::optional<std::uint64_t> number_after(const std::string& header, char before) {
    const std::size_t at = header.rfind(before);
    if (at == std::string::npos) return std::nullopt;
    std::uint64_t number = 0;
    const char* const end = header.data() + header.size();
    const auto [stop, error] = std::from_chars(header.data() + at + 1, end, number);
    return error == std::errc() ? std::optional(number) : std::nullopt;
}

/// One request and its answer.
class Transfer {
public:
    Transfer(FileSystem& files, const std::string& address, const std::string& partial, bool has_sum,
             const FetchHost& host)
        : files_(files),
          address_(address),
          partial_(partial),
          etag_path_(partial + ".etag"),
          has_sum_(has_sum),
          host_(host) {
        static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
        curl_ = curl_easy_init();
        if (ready != CURLE_OK || curl_ == nullptr) throw Error(ErrorKind::unsupported, "libcurl cannot start");
        if (!exists(files_, partial_)) return;
        const bool has_etag = exists(files_, etag_path_) && files_.open(etag_path_)->size_bytes() <= kMostEtagBytes;
        if (has_etag) etag_ = read_text(files_, etag_path_);
        if (has_sum_ || !etag_.empty()) first_ = files_.open(partial_)->size_bytes();
    }
    ~Transfer() {
        curl_slist_free_all(headers_);
        curl_easy_cleanup(curl_);
    }
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    enum class End { complete, again, failed };

    /// Receives what it can. `again`: the connection or the server failed in a way that may pass, or has sent a part.
    End run() {
        describe();
        const CURLcode code = curl_easy_perform(curl_);
        if (error_) std::rethrow_exception(error_);
        append();
        if (stopped_) throw Interrupted();
        read_status();
        if (status_ == kNotSatisfiable) return end_of_range();
        const bool has_content = status_ == kOk || status_ == kPartialContent;
        if (code == CURLE_OK && has_content) return end_of_content();
        why_ = code == CURLE_OK           ? "the server answers " + std::to_string(status_)
               : message_.front() != '\0' ? "it cannot be fetched: " + std::string(message_.data())
                                          : "it cannot be fetched: " + std::string(curl_easy_strerror(code));
        return may_pass(code) ? End::again : End::failed;
    }

    const std::string& why() const { return why_; }
    /// Bytes of the file that are there.
    std::uint64_t position() const { return first_ + received_; }

private:
    static constexpr std::uint64_t kMostEtagBytes = 4096;

    template <typename Value> void set(CURLoption option, Value value) {
        CNNTRAIN_CHECK(curl_easy_setopt(curl_, option, value) == CURLE_OK, "an option of libcurl");
    }

    void describe() {
        const char* const schemes = address_.starts_with("https:") ? "https" : "http,https";
        set(CURLOPT_URL, address_.c_str());
        set(CURLOPT_PROTOCOLS_STR, schemes);
        set(CURLOPT_REDIR_PROTOCOLS_STR, schemes);
        set(CURLOPT_FOLLOWLOCATION, 1L);
        set(CURLOPT_MAXREDIRS, kMostRedirections);
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_USERAGENT, "cnntrain");
        set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
        set(CURLOPT_LOW_SPEED_LIMIT, 1L);
        set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(host_.patience.count()));
        set(CURLOPT_ERRORBUFFER, message_.data());
        set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
        set(CURLOPT_WRITEDATA, this);
        set(CURLOPT_NOPROGRESS, 0L);
        set(CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress);
        set(CURLOPT_XFERINFODATA, this);
        if (first_ == 0) return;
        headers_ = curl_slist_append(headers_, ("Range: bytes=" + std::to_string(first_) + "-").c_str());
        if (!etag_.empty()) headers_ = curl_slist_append(headers_, ("If-Range: " + etag_).c_str());
        set(CURLOPT_HTTPHEADER, headers_);
    }

    /// Forgets what is there: the file is fetched anew.
    void drop() {
        files_.remove(partial_);
        first_ = 0;
        received_ = 0;
    }

    /// The server says how long the content is, which may be what is there already.
    End end_of_range() {
        if (number_after(header("Content-Range"), '/') == first_) return End::complete;
        drop();
        why_ = "the server has other content than before";
        return End::again;
    }

    End end_of_content() {
        if (!began_) begin();
        if (lies_) {
            drop();
            why_ = "the server sends another part of the file than the one that was asked for";
            return End::again;
        }
        why_ = "the server sends nothing";
        if (position() == 0) return End::failed;
        why_ = "the server does not say how long the file is, and no checksum is published";
        if (!whole_) return has_sum_ ? End::complete : End::failed;
        why_ = "the server sends " + std::to_string(position()) + " of " + std::to_string(*whole_) + " bytes";
        return position() == *whole_ ? End::complete : End::again;
    }

    bool may_pass(CURLcode code) const {
        if (code == CURLE_OK) return status_ >= kServerErrors || status_ == kTooManyRequests;
        constexpr std::array kLost = {CURLE_PARTIAL_FILE, CURLE_RECV_ERROR,         CURLE_SEND_ERROR,  CURLE_HTTP2,
                                      CURLE_GOT_NOTHING,  CURLE_OPERATION_TIMEDOUT, CURLE_HTTP2_STREAM};
        constexpr std::array kUnreachable = {CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST};
        const bool was_reachable = position() > 0;
        return std::ranges::find(kLost, code) != kLost.end() ||
               (was_reachable && std::ranges::find(kUnreachable, code) != kUnreachable.end());
    }

    void read_status() { curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status_); }

    /// Once, before the first byte of the content: it follows what is there, or replaces it.
    void begin() {
        began_ = true;
        read_status();
        if (status_ == kPartialContent) {
            const std::string range = header("Content-Range");
            lies_ = number_after(range, ' ') != first_;
            whole_ = number_after(range, '/');
        } else {
            curl_off_t length = -1;
            curl_easy_getinfo(curl_, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
            if (length >= 0) whole_ = static_cast<std::uint64_t>(length);
            drop();
        }
        files_.remove(etag_path_);
        const std::string etag = header("ETag");
        const bool is_strong = etag.starts_with('"') && etag.size() < kMostEtagBytes;  // the same bytes for certain
        if (is_strong) write_text(files_, etag_path_, etag);
    }

    void receive(std::string_view bytes) {
        if (!began_) begin();
        if (lies_) return;
        piece_ += bytes;
        received_ += bytes.size();
        if (position() > kLongestFile) {
            files_.remove(partial_);
            throw Error(ErrorKind::data,
                        "the server sends more than " + size_text(kLongestFile) + ", which are no weights");
        }
        if (piece_.size() >= kPieceBytes) append();
        if (host_.progress && whole_) host_.progress(position(), first_, *whole_);
    }

    void append() {
        if (!piece_.empty()) files_.append(partial_, piece_);
        piece_.clear();
    }

    /// A header of the last answer; "" if it has none.
    std::string header(const char* name) const {
        curl_header* found = nullptr;
        const bool there = curl_easy_header(curl_, name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK;
        return there ? found->value : "";
    }

    /// libcurl is written in C: an error waits until it has returned.
    static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self) {
        auto& transfer = *static_cast<Transfer*>(self);
        transfer.read_status();
        const bool is_content = transfer.status_ == kOk || transfer.status_ == kPartialContent;
        if (!is_content) return size * count;  // a page about the failure
        try {
            transfer.receive({bytes, size * count});
            return size * count;
        } catch (...) {
            transfer.error_ = std::current_exception();
            return 0;
        }
    }
    static int on_progress(void* self, curl_off_t /*total*/, curl_off_t /*now*/, curl_off_t /*to_send*/,
                           curl_off_t /*sent*/) {
        auto& transfer = *static_cast<Transfer*>(self);
        transfer.stopped_ = transfer.host_.stop_requested && transfer.host_.stop_requested();
        return transfer.stopped_ ? 1 : 0;
    }

    FileSystem& files_;
    const std::string& address_;
    const std::string& partial_;
    std::string etag_path_;
    bool has_sum_;
    const FetchHost& host_;
    CURL* curl_ = nullptr;
    curl_slist* headers_ = nullptr;
    std::array<char, CURL_ERROR_SIZE> message_{};

    std::uint64_t first_ = 0;  // bytes that were there before
    std::string etag_;         // the server's name of them
    // The answer:
    long status_ = 0;
    bool began_ = false;
    bool lies_ = false;                   // it is another part than the one that was asked for
    std::optional<std::uint64_t> whole_;  // bytes of the whole file
    std::string piece_;
    std::uint64_t received_ = 0;
    bool stopped_ = false;
    std::exception_ptr error_;
    std::string why_;
};

}  // namespace

void download(FileSystem& files, const std::string& address, const std::string& partial, bool has_sum,
              const FetchHost& host) {
    std::chrono::milliseconds wait = host.pause;
    std::uint64_t farthest = 0;
    for (int attempt = 1;; ++attempt) {
        Transfer transfer(files, address, partial, has_sum, host);
        const Transfer::End end = transfer.run();
        if (end == Transfer::End::complete) return;
        if (transfer.position() > farthest) {
            farthest = transfer.position();
            attempt = 1;
            wait = host.pause;
        }
        if (end == Transfer::End::failed || attempt >= kAttempts) throw Error(ErrorKind::data, transfer.why());
        log::info(address + ": " + transfer.why() + "; trying again");
        pause_for(wait, host);
        wait *= 2;
    }
}

struct Sha256::State {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
    CNNTRAIN_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1, "libcrypto has no SHA-256");
}
Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
    EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

std::string Sha256::digits() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
    unsigned size = 0;
    EVP_DigestFinal_ex(state_->context, sum.data(), &size);
    std::string text;
    for (unsigned i = 0; i < size; ++i)
        text += formatted("%02x", sum[i]);
    return text;
}

}  // namespace cnntrain::weights

#else

namespace cnntrain::weights {

void download(FileSystem& /*files*/, const std::string& /*address*/, const std::string& /*partial*/, bool /*has_sum*/,
              const FetchHost& /*host*/) {
    throw Error(ErrorKind::unsupported, "this cnntrain was built without libcurl and OpenSSL, which fetch files");
}

struct Sha256::State {};
Sha256::Sha256() = default;
Sha256::~Sha256() = default;
void Sha256::add(std::span<const std::byte> /*bytes*/) {}
std::string Sha256::digits() {
    return {};
}

}  // namespace cnntrain::weights

#endif
