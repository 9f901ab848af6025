// Published weights: their table, and what a server answers that is asked for one.
#include <cstdlib>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/options/line.h"
#include "cnntrain/weights/published.h"
#include "fuzz/fuzz_target.h"
#include "support/http_server.h"

namespace cnntrain::fuzz {

namespace {

const std::string kFacts =
    "{source: timm, model: resnet, size: '18', architecture: resnet18, classes: 10, pixels: 32, crop: 0.9, resize: "
    "center, interpolation: bilinear, mean: [0, 0, 0], std: [1, 1, 1], licence: mit, default: true, address: ";

/// Fetches from a server that answers with these bytes.
void fetch(const std::string& answer, bool has_sum) {
    static test::HttpServer server;
    setenv("no_proxy", "127.0.0.1", 1);
    setenv("http_proxy", "http://127.0.0.1:1", 1);  // other hosts are not asked
    test::HttpServer::File file;
    file.answer = answer;
    server.set("/x.pth", file);
    const std::string sum = has_sum ? ", sha256: '0123456789'" : "";
    const std::string table = "net: " + kFacts + "'" + server.address("/x.pth") + "'" + sum + "}";
    MemoryFiles files;
    weights::FetchHost host;
    host.pause = std::chrono::milliseconds(0);
    host.patience = std::chrono::seconds(1);
    accepted([&] { fetch_published(files, weights::parse_published(table, "t").at(0), "/cache", host); },
             {ErrorKind::data});
    // A file has its name only with its config.json.
    const bool named = exists(files, "/cache/net/pytorch_model.bin");
    require(!named || exists(files, "/cache/net/config.json"));
}

}  // namespace

std::vector<std::string> seeds() {
    const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"a\"\r\n\r\n0123456789";
    return {"tnet: " + kFacts + "'https://host/x.safetensors'}\n",
            "tnet: " + kFacts + "'http://host/x.pth', sha256: '0123456789abcdef', package: p}\n",
            "a" + ok,
            "s" + ok,
            "aHTTP/1.1 206 Part\r\nContent-Range: bytes 0-4/10\r\nContent-Length: 5\r\n\r\n01234",
            "aHTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n",
            "sHTTP/1.1 416 Range\r\nContent-Range: bytes */10\r\n\r\n",
            "sHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n0\r\n\r\n",
            "aHTTP/1.0 200 OK\r\n\r\n0123456789"};
}

std::vector<std::string> words() {
    return {"\r\n",
            ": ",
            "bytes ",
            "*/",
            "/10",
            "206",
            "416",
            "503",
            "-1",
            "9999999999",
            "ETag: \"",
            "W/\"b\"",
            "Content-Range: ",
            "Content-Length: ",
            "Location: /x.pth",
            "ftp://host",
            "Content-Encoding: gzip\r\n",
            "{",
            "}",
            "[",
            "]",
            "&a ",
            "*a",
            "\"",
            "\\xff",
            "sha256: "};
}

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    if (size == 0) return 0;
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (data[0] == 'a' || data[0] == 's') {
        fuzz::fetch(text, data[0] == 's');
        return 0;
    }
    fuzz::accepted(
        [&] {
            options::check_yaml(text, ErrorKind::usage);
            for (const weights::PublishedWeights& row : weights::parse_published(text, "t"))
                weights::published_path(row, "/cache");
        },
        {ErrorKind::usage});
    return 0;
}
