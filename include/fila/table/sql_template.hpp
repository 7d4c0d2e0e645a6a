// SPDX-License-Identifier: MIT
// SqlTemplate: fills the holes of a statement. Fifty lines instead of a query builder, so that SQL stays SQL.
//
//   {name}          a quoted identifier, a literal word, or an expression of the dialect
//   {role? text}    text, if that column is mapped (or that dialect is spoken, or that flag is set)
//   {!role? text}   text, if it is not
//   :name           a bound parameter
//   {o}name         a value of the row at hand: o.name where many rows come as arrays, else :name
#pragma once

#include <fila/table/dialect.hpp>
#include <fila/table/statement.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fila::inline v1::detail {

/// `words` are pasted as they are, so a user's own SQL cannot be taken for a hole; `macros` are filled in
/// turn.
class SqlTemplate {
public:
    using Names = std::map<std::string, std::string, std::less<>>;

    explicit SqlTemplate(Dialect const& dialect) : dialect_{&dialect} {}

    Names words;
    Names macros;
    Names types;  ///< of parameters, where they are not bigint

    [[nodiscard]] Statement operator()(std::string_view text) const {
        Statement out;
        expand(text, out);
        while (!out.text.empty() && out.text.back() == ' ') out.text.pop_back();
        return out;
    }

private:
    [[nodiscard]] bool flag(std::string_view name) const {
        return name == dialect_->name || words.contains(name) || macros.contains(name);
    }
    void expand(std::string_view text, Statement& out) const {
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] == '{') {
                auto const end = closing(text, i);
                auto const inside = text.substr(i + 1, end - i - 1);
                i = end;
                if (inside == "o")
                    i = value(text, end + 1, out) - 1;
                else
                    hole(inside, out);
            } else if (text[i] == ':' && is_name(text, i + 1) && (i == 0 || text[i - 1] != ':')) {
                auto const end = name_end(text, i + 1);
                parameter(text.substr(i + 1, end - i - 1), out);
                i = end - 1;
            } else {
                out.text += text[i];
            }
        }
    }
    /// `{o}name`: a value of the row at hand.
    std::size_t value(std::string_view text, std::size_t begin, Statement& out) const {
        auto const end = name_end(text, begin);
        auto const name = text.substr(begin, end - begin);
        if (dialect_->arrays)
            out.text += "o.", out.text += name;
        else
            parameter(name, out);
        return end;
    }
    void hole(std::string_view inside, Statement& out) const {
        auto const mark = inside.find('?');
        if (mark != inside.npos && inside.find('{') > mark) {
            bool const wanted = inside.front() != '!';
            auto const name = inside.substr(wanted ? 0 : 1, mark - (wanted ? 0 : 1));
            if (flag(name) == wanted) expand(inside.substr(mark + 1), out);
        } else if (auto const macro = macros.find(inside); macro != macros.end()) {
            expand(macro->second, out);
        } else if (auto const word = words.find(inside); word != words.end()) {
            out.text += word->second;
        } else {
            throw std::logic_error("fila: a statement needs what is not mapped: " + std::string{inside});
        }
    }
    void parameter(std::string_view name, Statement& out) const {
        auto const known = std::find(out.parameters.begin(), out.parameters.end(), name);
        auto const place = static_cast<std::size_t>(known - out.parameters.begin()) + 1;
        if (known == out.parameters.end()) out.parameters.emplace_back(name);
        if (!dialect_->arrays) {
            out.text += ':';
            out.text += name;
            return;
        }
        auto const type = types.find(name);
        out.text += '$' + std::to_string(place) + "::" + (type != types.end() ? type->second : "bigint");
    }
    static std::size_t closing(std::string_view text, std::size_t open) {
        std::size_t depth = 0;
        for (std::size_t i = open; i < text.size(); ++i) {
            if (text[i] == '{') ++depth;
            if (text[i] == '}' && --depth == 0) return i;
        }
        throw std::logic_error("fila: a statement has an open hole");
    }
    static std::size_t name_end(std::string_view text, std::size_t i) {
        while (is_name(text, i)) ++i;
        return i;
    }
    static bool is_name(std::string_view text, std::size_t i) {
        return i < text.size() &&
               (text[i] == '_' || (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9'));
    }

    Dialect const* dialect_;
};

}  // namespace fila::inline v1::detail
