#include "cnntrain/config/option_values.h"

#include "cnntrain/base/error.h"

namespace cnntrain::config {

OptionValues::OptionValues(const std::vector<const Option*>& options, const Launch& launch) : launch_(launch) {
    for (const Option* option : options) {
        index_[key(*option)] = values_.size();
        values_.push_back({option, option->fallback, Source::default_value});
    }
}

void OptionValues::apply(const Layer& layer, Source source) {
    for (const auto& [option, value] : layer) {
        if (has(key(*option))) set(key(*option), value, source);
    }
}

void OptionValues::set(std::string_view key, Value value, Source source) {
    ResolvedOption& target = slot(key);
    target.value = std::move(value);
    target.source = source;
}

void OptionValues::reset(std::string_view key) {
    ResolvedOption& target = slot(key);
    target.value = target.option->fallback;
    target.source = Source::default_value;
}

bool OptionValues::has(std::string_view key) const {
    return index_.find(key) != index_.end();
}

ResolvedOption& OptionValues::slot(std::string_view key) {
    const auto found = index_.find(key);
    CNNTRAIN_CHECK(found != index_.end(), "no option with key " + std::string(key) + " here");
    return values_[found->second];
}

const ResolvedOption& OptionValues::at(std::string_view key) const {
    const auto found = index_.find(key);
    CNNTRAIN_CHECK(found != index_.end(), "no option with key " + std::string(key) + " here");
    return values_[found->second];
}

bool given(Source source) {
    return source == Source::environment || source == Source::config || source == Source::arguments ||
           source == Source::command_line;
}

bool OptionValues::given(std::string_view key) const {
    return has(key) && config::given(at(key).source);
}

template <typename T> T OptionValues::value_or_empty(std::string_view key) const {
    if (!is_set(key)) return T{};
    const T* value = std::get_if<T>(&at(key).value);
    CNNTRAIN_CHECK(value != nullptr, "option " + std::string(key) + " has another type");
    return *value;
}

bool OptionValues::flag(std::string_view key) const {
    return value_or_empty<bool>(key);
}
std::int64_t OptionValues::integer(std::string_view key) const {
    return value_or_empty<std::int64_t>(key);
}
double OptionValues::number(std::string_view key) const {
    return value_or_empty<double>(key);
}
std::string OptionValues::text(std::string_view key) const {
    return value_or_empty<std::string>(key);
}
std::vector<std::string> OptionValues::texts(std::string_view key) const {
    return value_or_empty<std::vector<std::string>>(key);
}

std::vector<double> OptionValues::numbers(std::string_view key) const {
    return value_or_empty<std::vector<double>>(key);
}

bool OptionValues::is_set(std::string_view key) const {
    return has(key) && !is_unset(at(key).value);
}

}  // namespace cnntrain::config
