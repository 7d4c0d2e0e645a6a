// SPDX-License-Identifier: MIT
// SignalsBlocked: no signal handler of the program runs on a thread that is started in its scope.
#pragma once

#include <fila/config.hpp>

#include <initializer_list>
#include <signal.h>

namespace fila::inline v1::detail {

/// A new thread inherits the mask of its maker; so the mask is set before, and put back after, with no moment
/// in between. Signals that report a fault of the thread itself stay open: a blocked one kills without a
/// word.
class SignalsBlocked {
public:
    SignalsBlocked() noexcept {
        sigset_t all;
        sigfillset(&all);
        for (int const fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
            sigdelset(&all, fault);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    SignalsBlocked(SignalsBlocked const&) = delete;
    SignalsBlocked& operator=(SignalsBlocked const&) = delete;
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

}  // namespace fila::inline v1::detail
