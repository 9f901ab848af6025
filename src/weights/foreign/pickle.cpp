#include "weights/foreign/pickle.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "cnntrain/base/text.h"

namespace cnntrain::weights {
namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 22;  // a checkpoint of a thousand tensors has 20 000
constexpr std::uint8_t kNewestProtocol = 5;

struct OpcodeName {
    std::uint8_t code;
    std::string_view name;
};
/// Opcodes that are not read here, by their names in Python's pickle module.
constexpr OpcodeName kRefused[] = {
    {'P', "PERSID"},
    {'F', "FLOAT"},
    {'I', "INT"},
    {'L', "LONG"},
    {'S', "STRING"},
    {'V', "UNICODE"},
    {'i', "INST"},
    {'o', "OBJ"},
    {'0', "POP"},
    {'1', "POP_MARK"},
    {'2', "DUP"},
    {'g', "GET"},
    {'p', "PUT"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {0x92, "NEWOBJ_EX"},
    {0x97, "NEXT_BUFFER"},
    {0x98, "READONLY_BUFFER"},
    {'d', "DICT"},
    {'l', "LIST"},
};

/// Opcodes that a length and a text follow.
struct TextOpcode {
    std::uint8_t code;
    PickleKind kind;
    std::size_t length_bytes;
};
constexpr TextOpcode kTextOpcodes[] = {
    {'X', PickleKind::text, 4},    // BINUNICODE
    {0x8c, PickleKind::text, 1},   // SHORT_BINUNICODE
    {0x8d, PickleKind::text, 8},   // BINUNICODE8
    {'T', PickleKind::text, 4},    // BINSTRING
    {'U', PickleKind::text, 1},    // SHORT_BINSTRING
    {'B', PickleKind::bytes, 4},   // BINBYTES
    {'C', PickleKind::bytes, 1},   // SHORT_BINBYTES
    {0x8e, PickleKind::bytes, 8},  // BINBYTES8
    {0x96, PickleKind::bytes, 8},  // BYTEARRAY8
};

}  // namespace

/// The machine that a pickle is a program for: a stack of values, marks in it, and a memo.
class PickleReader {
public:
    PickleReader(Pickle& into, ByteCursor& bytes, Pickle::Known known) : into_(into), in_(bytes), known_(known) {}

    void read() {
        for (;;) {
            at_ = in_.position();
            const std::uint8_t code = in_.u8();
            if (code == '.') break;
            if (!read_constant(code) && !read_container(code) && !read_reference(code)) refuse(code);
        }
        into_.root_ = pop();
    }

private:
    [[noreturn]] void refuse(std::uint8_t code) const {
        const auto* row = std::ranges::find(kRefused, code, &OpcodeName::code);
        if (row == std::end(kRefused)) in_.fail(formatted("0x%02x is no opcode of a pickle,", unsigned{code}));
        throw Error(ErrorKind::unsupported, in_.place() + ": the pickle opcode " + std::string(row->name) + position() +
                                                " is not one that files of weights need; save a state_dict of tensors");
    }

    std::string position() const { return " at byte " + std::to_string(at_); }
    [[noreturn]] void fail(const std::string& what) const { in_.fail("the pickle " + what); }

    // ---- the stack ----

    PickleId make(PickleKind kind, std::int64_t number = 0, std::string_view text = {}) {
        if (into_.values_.size() >= kMostValues) fail("has more than " + std::to_string(kMostValues) + " values");
        into_.values_.push_back({kind, number, std::string(text), {}});
        return static_cast<PickleId>(into_.values_.size() - 1);
    }
    void push(PickleKind kind, std::int64_t number = 0, std::string_view text = {}) {
        stack_.push_back(make(kind, number, text));
    }
    void push(PickleKind kind, std::vector<PickleId> items) {
        push(kind);
        into_.values_[stack_.back()].items = std::move(items);
    }

    PickleId pop() {
        if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("takes a value from an empty stack");
        const PickleId id = stack_.back();
        stack_.pop_back();
        return id;
    }
    PickleValue& top() {
        if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("reads an empty stack");
        return into_.values_[stack_.back()];
    }
    std::vector<PickleId> pop_to_mark() {
        if (marks_.empty()) fail("lacks a mark");
        const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
        std::vector<PickleId> items(from, stack_.end());
        stack_.erase(from, stack_.end());
        marks_.pop_back();
        return items;
    }
    std::vector<PickleId> pop_items(std::size_t count) {
        std::vector<PickleId> items(count);
        for (std::size_t i = count; i > 0; --i)
            items[i - 1] = pop();
        return items;
    }

    // ---- opcodes ----

    bool read_constant(std::uint8_t code) {
        switch (code) {
            case 0x80:  // PROTO
                if (in_.u8() > kNewestProtocol) fail("has a newer protocol than " + std::to_string(kNewestProtocol));
                return true;
            case 0x95:  // FRAME
                in_.skip(8);
                return true;
            case 'N':
                push(PickleKind::none);
                return true;
            case 0x88:  // NEWTRUE
            case 0x89:  // NEWFALSE
                push(PickleKind::boolean, code == 0x88);
                return true;
            case 'J':  // BININT
                push(PickleKind::integer, static_cast<std::int32_t>(in_.u32()));
                return true;
            case 'K':  // BININT1
                push(PickleKind::integer, in_.u8());
                return true;
            case 'M':  // BININT2
                push(PickleKind::integer, in_.u16());
                return true;
            case 0x8a:  // LONG1
                read_long(in_.u8());
                return true;
            case 0x8b:  // LONG4
                read_long(in_.u32());
                return true;
            case 'G':  // BINFLOAT
                in_.skip(8);
                push(PickleKind::real);
                return true;
            default:
                return read_text(code);
        }
    }

    void read_long(std::uint32_t size) {
        if (size > 8) {
            push(PickleKind::opaque, 0, in_.text(size));
            return;
        }
        std::uint64_t bits = in_.number(size);
        const bool negative = size > 0 && (bits >> (8 * size - 1)) != 0;
        if (negative && size < 8) bits |= ~std::uint64_t{0} << (8 * size);
        push(PickleKind::integer, static_cast<std::int64_t>(bits));
    }

    bool read_text(std::uint8_t code) {
        const auto* row = std::ranges::find(kTextOpcodes, code, &TextOpcode::code);
        if (row == std::end(kTextOpcodes)) return false;
        push(row->kind, 0, in_.text(in_.number(row->length_bytes)));
        return true;
    }

    bool read_container(std::uint8_t code) {
        switch (code) {
            case '(':
                marks_.push_back(stack_.size());
                return true;
            case ')':
                push(PickleKind::tuple);
                return true;
            case ']':
                push(PickleKind::list);
                return true;
            case '}':
                push(PickleKind::dict);
                return true;
            case 0x8f:  // EMPTY_SET
                push(PickleKind::opaque);
                return true;
            case 't':
                push(PickleKind::tuple, pop_to_mark());
                return true;
            case 0x91:  // FROZENSET
                push(PickleKind::opaque, pop_to_mark());
                return true;
            case 0x85:  // TUPLE1, TUPLE2, TUPLE3
            case 0x86:
            case 0x87:
                push(PickleKind::tuple, pop_items(code - 0x84U));
                return true;
            case 'a':
                append(pop_items(1), PickleKind::list);
                return true;
            case 'e':
            case 0x90:  // ADDITEMS
                append(pop_to_mark(), PickleKind::list);
                return true;
            case 's':
                append(pop_items(2), PickleKind::dict);
                return true;
            case 'u': {
                const std::vector<PickleId> items = pop_to_mark();
                if (items.size() % 2 != 0) fail("sets a key without a value");
                append(items, PickleKind::dict);
                return true;
            }
            default:
                return false;
        }
    }

    /// Appends items to the container on the stack.
    void append(const std::vector<PickleId>& items, PickleKind kind) {
        PickleValue& container = top();
        const bool opaque = container.kind == PickleKind::opaque || container.kind == PickleKind::call;
        if (container.kind != kind && !opaque) fail("adds items to a value that is no container");
        if (!opaque) container.items.insert(container.items.end(), items.begin(), items.end());
    }

    bool read_reference(std::uint8_t code) {
        switch (code) {
            case 'q':
                memo_[in_.u8()] = top_id();
                return true;
            case 'r':
                memo_[in_.u32()] = top_id();
                return true;
            case 0x94:  // MEMOIZE
                memo_[static_cast<std::uint32_t>(memo_.size())] = top_id();
                return true;
            case 'h':
                recall(in_.u8());
                return true;
            case 'j':
                recall(in_.u32());
                return true;
            case 'Q':  // BINPERSID
                push(PickleKind::persistent, pop_items(1));
                return true;
            case 'c': {  // GLOBAL
                const std::string_view module = in_.line();
                push_global(std::string(module) + "." + std::string(in_.line()));
                return true;
            }
            case 0x93: {  // STACK_GLOBAL
                const std::vector<PickleId> names = pop_items(2);
                push_global(text_at(names[0]) + "." + text_at(names[1]));
                return true;
            }
            case 'R':   // REDUCE
            case 0x81:  // NEWOBJ
                call();
                return true;
            case 'b':  // BUILD: attributes of objects are not read
                pop();
                top();
                return true;
            default:
                return false;
        }
    }

    PickleId top_id() {
        top();
        return stack_.back();
    }

    void recall(std::uint32_t key) {
        const auto found = memo_.find(key);
        if (found == memo_.end()) fail("reads value " + std::to_string(key) + " of its memo, which is not there,");
        stack_.push_back(found->second);
    }

    const std::string& text_at(PickleId id) const {
        const PickleValue& value = into_.values_[id];
        if (value.kind != PickleKind::text) fail("names a class by a value that is no text");
        return value.text;
    }

    void push_global(const std::string& name) {
        if (known_(name) == PickleGlobal::refused) {
            constexpr std::size_t kLongest = 200;
            throw Error(ErrorKind::unsupported,
                        in_.place() + ": the pickle needs " + name.substr(0, kLongest) + " of Python" + position() +
                            ", which files of weights do not need; nothing of it was executed. If you trust the file, "
                            "load it with its own program and save the state_dict of the model alone");
        }
        push(PickleKind::global, 0, name);
    }

    void call() {
        std::vector<PickleId> items = pop_items(2);
        const PickleValue& callable = into_.values_[items[0]];
        if (callable.kind != PickleKind::global) fail("calls a value that is no function");
        const PickleValue& arguments = into_.values_[items[1]];
        if (arguments.kind != PickleKind::tuple) fail("calls a function without arguments");
        switch (known_(callable.text)) {
            case PickleGlobal::dict:
                push(PickleKind::dict);
                return;
            case PickleGlobal::tuple:
                // The argument itself: copies of a long one could fill the memory.
                stack_.push_back(arguments.items.empty() ? make(PickleKind::tuple) : arguments.items[0]);
                return;
            case PickleGlobal::opaque:
                push(PickleKind::opaque);
                return;
            default:
                push(PickleKind::call, std::move(items));
        }
    }

    Pickle& into_;
    ByteCursor& in_;
    Pickle::Known known_;
    std::size_t at_ = 0;  // of the opcode
    std::vector<PickleId> stack_;
    std::vector<std::size_t> marks_;  // sizes of the stack
    std::unordered_map<std::uint32_t, PickleId> memo_;
};

Pickle::Pickle(ByteCursor& bytes, Known known) {
    PickleReader(*this, bytes, known).read();
}

}  // namespace cnntrain::weights
