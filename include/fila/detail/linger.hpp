// SPDX-License-Identifier: MIT
// Linger: a second look before a thread goes to sleep.
#pragma once

#include <fila/config.hpp>

#include <atomic>
#include <thread>

namespace fila::inline v1::detail {

/// To put a thread to sleep and to wake it takes some 25 µs where its core sleeps too: far more than two threads that
/// hand rows to each other need for what they do in between. Once they sleep by turns, only a look that lasts as long
/// as a wake gets them out of it. So one look in sixteen is long, and all are while that pays; the others are over in
/// two or three µs. Whoever else wants the core gets it. Thread safety: from several threads at once.
class Linger {
public:
    template <class Ready>
    void until(Ready ready) noexcept {
        auto const in_vain = in_vain_.load(std::memory_order_relaxed);
        for (int turns = in_vain % 16 == 0 ? 24 : 2; turns > 0; --turns) {
            for (int looks = 0; looks < 8; ++looks) {
                if (ready()) {
                    if (in_vain % 16 == 0) in_vain_.store(0, std::memory_order_relaxed);
                    return;
                }
                relax();
            }
            std::this_thread::yield();
        }
        in_vain_.store(in_vain + 1, std::memory_order_relaxed);
    }

private:
    static void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    std::atomic<unsigned> in_vain_{0};
};

}  // namespace fila::inline v1::detail
