// SPDX-License-Identifier: MIT
// Errands: claims that the claimer sends workers for. Where a row is claimed, handled and settled in one transaction,
// its worker asks for it too: as many ask at once as there are workers, and none waits for another.
//
// The claimer keeps the book: how many are out, where the next one asks, when the pass is over.
#pragma once

#include <fila/detail/list.hpp>
#include <fila/store/store_concept.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>

namespace fila::inline v1::detail {

/// To ask for one row, and what came of it. The claimer's, then its worker's, then the claimer's again.
template <class S>
struct Errand {
    ClaimRequest<cursor_t<S>> request{};
    std::uint64_t number = 0;  ///< of all, in the order in which they were sent
    ClaimResult<cursor_t<S>> result{};
    std::exception_ptr error{};
    bool asked = false;      ///< nobody asks any more when the run is over
    bool row = false;        ///< there is one
    Errand* next = nullptr;  ///< in the list of those that are back
};

/// Of claims that run side by side nobody knows which one came furthest, so the answer to the one that was sent last
/// says where the pass stands. It leaves no row out, since every claim takes the first one that is free; it may meet
/// a row again whose transaction was rolled back, and then only within as many rows as there are errands out.
///
/// One alone begins a pass, and each row that is found lets one more be out: a pass over nothing asks once. A claim
/// that failed may have kept its row from the others, so after it the pass goes back to where the last one that ran
/// alone had begun. Thread safety: none, it is the claimer's.
template <class S>
class Errands {
public:
    /// `side_by_side`: whether more than one may be out. Not where a row that failed could be met again at once.
    explicit Errands(bool side_by_side) : side_by_side_{side_by_side} {}

    void begin_pass() {
        restart({});
        pass_ = first_;
        out_ = 0;
    }
    [[nodiscard]] bool may_send() const noexcept { return !dry_ && out_ < most_; }
    [[nodiscard]] Errand<S>* send() {
        if (out_ == 0) alone_ = cursor_;
        if (free_.empty()) {
            free_.reserve(++made_);
            free_.push_back(&all_.add());
        }
        auto* const errand = free_.back();
        errand->request = {1, cursor_, {}};
        errand->number = sent_ + 1;
        errand->asked = errand->row = false;
        free_.pop_back();
        ++sent_, ++out_;
        return errand;
    }
    /// For another time, when it is back and has been looked at.
    void keep(Errand<S>* errand) noexcept {
        errand->error = nullptr;
        free_.push_back(errand);
    }
    /// It is not out any more. Before what it says is looked at.
    void back(Errand<S> const& errand) noexcept { out_ -= errand.number >= pass_; }
    /// The store answered. Whether the answer says where the pass stands.
    bool answered(Errand<S> const& errand) {
        if (errand.number < first_) return false;
        if (errand.number > latest_) latest_ = errand.number, cursor_ = errand.result.cursor;
        dry_ = dry_ || errand.result.supply != Supply::more;
        most_ += errand.row && side_by_side_;
        return true;
    }
    /// It failed, or no connection was to be had. Whether it is the first to say so: what was under way by then fails
    /// for the same reason, and is no second fault.
    [[nodiscard]] bool refused(Errand<S> const& errand) {
        if (errand.number >= first_) restart(alone_);
        if (errand.number <= refused_) return false;
        refused_ = sent_;
        return true;
    }
    /// Whether one found nothing more, and none is still out that may.
    [[nodiscard]] bool pass_is_dry() const noexcept { return dry_ && out_ == 0; }

private:
    void restart(cursor_t<S> const& from) {
        cursor_ = from;
        first_ = sent_ + 1;
        most_ = 1;
        dry_ = false;
    }

    bool const side_by_side_;
    bool dry_ = false;
    std::size_t out_ = 0, most_ = 1;  ///< of this pass
    /// Numbers: of the last one, of the first of the pass, the first one whose answer counts for it and the last that
    /// did, and the last one that was under way when one was refused.
    std::uint64_t sent_ = 0, pass_ = 1, first_ = 1, latest_ = 0, refused_ = 0;
    cursor_t<S> cursor_{}, alone_{};
    Chain<Errand<S>> all_;
    List<Errand<S>*> free_;
    std::size_t made_ = 0;
};

}  // namespace fila::inline v1::detail
