// SPDX-License-Identifier: MIT
// Lent: a thing that cannot be copied, shared by the store that keeps it and the handler that works on it.
#pragma once

#include <fila/config.hpp>

#include <memory>
#include <utility>

namespace fila::inline v1 {

/// The row type of a ChannelStore whose items can only be moved. It converts to `T&`, so a handler is written
/// for the thing itself, `[](T const& item)` or `[](T& item)`; a retry finds what the last attempt left. A
/// handle: copies share the thing, and it lives as long as one of them. Thread safety: that of a shared_ptr.
template <class T>
class Lent {
public:
    /// Takes the thing in.
    explicit Lent(T item) : item_{std::make_shared<T>(std::move(item))} {}

    [[nodiscard]] T& operator*() const noexcept { return *item_; }
    [[nodiscard]] T* operator->() const noexcept { return item_.get(); }
    /// The thing itself, for handlers that take a `T&` or a `T const&`.
    operator T&() const noexcept { return *item_; }

private:
    std::shared_ptr<T> item_;
};

}  // namespace fila::inline v1
