# SPDX-License-Identifier: MIT
# Whether the simulation has teeth: the engine with one line changed, and a hunt that must find it.

# fila_mutant(<name> <header> <text> <by>): the header with one text, which must stand there once, replaced.
function(fila_mutant name header text by)
    set(original "${PROJECT_SOURCE_DIR}/include/fila/${header}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${original}")
    file(READ "${original}" code)
    string(FIND "${code}" "${text}" first)
    string(FIND "${code}" "${text}" last REVERSE)
    if(first EQUAL -1 OR NOT first EQUAL last)
        message(FATAL_ERROR "mutant ${name}: its text must stand in ${header} exactly once:\n${text}")
    endif()
    string(REPLACE "${text}" "${by}" code "${code}")
    set(directory "${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}")
    file(CONFIGURE OUTPUT "${directory}/fila/${header}" CONTENT "${code}" @ONLY)

    add_executable(mutant_${name} mutant_hunt.cpp)
    target_include_directories(mutant_${name} BEFORE PRIVATE "${directory}" "${PROJECT_SOURCE_DIR}/tests")
    target_compile_options(mutant_${name} PRIVATE -O0 -g0)
    target_link_libraries(mutant_${name} PRIVATE fila::fila fila::testing)
    add_test(NAME mutants/${name} COMMAND mutant_${name} ${name})
    set_tests_properties(mutants/${name} PROPERTIES TIMEOUT 300 LABELS mutants)
endfunction()

fila_mutant(heartbeat_skips_rows_that_wait detail/keeper.hpp
    "if (f.mark(i).lost.load(std::memory_order_relaxed)) return;"
    "if (f.mark(i).lost.load() || f.untaken() + i >= f.size()) return;")
fila_mutant(heartbeat_ends_with_the_stop detail/keeper.hpp
    "if (now >= next_beat_) return gather(now);"
    "if (now >= next_beat_ && !ledger_.stopping()) return gather(now);")
fila_mutant(heartbeat_answers_for_a_recycled_batch detail/keeper.hpp
    "if (f->generation != generation || f->mark(i).settled.load(std::memory_order_relaxed))"
    "if (i >= f->size())")
fila_mutant(settle_rings_nobody detail/ledger.hpp
    "if (of_use) claimer->bell().ring();"
    "static_cast<void>(of_use);")
fila_mutant(last_row_taken_rings_nobody detail/ledger.hpp
    "claimer->bell().ring();  // nothing may be waiting now: fetch before somebody starves"
    "static_cast<void>(0);")
fila_mutant(failed_claim_keeps_its_slots detail/claimer.hpp
    "            ledger_.parts.limiter.release(slots_);\n            state_ = State::look;"
    "            state_ = State::look;")
fila_mutant(slots_are_given_back_twice detail/claimer.hpp
    "ledger_.parts.limiter.release(slots_ - n);"
    "ledger_.parts.limiter.release(slots_);")
fila_mutant(cursor_is_not_kept detail/claimer.hpp
    "cursor_ = result.cursor;"
    "cursor_ = {};")
fila_mutant(own_row_runs_beside_itself detail/claimer.hpp
    "handed_out_ += n - set_aside_our_own(now);"
    "handed_out_ += n;")
fila_mutant(forgotten_claim_runs_beside_itself detail/flight.hpp
    "run_out(now) || era != newer.era;"
    "run_out(now) || newer.era < era;")
fila_mutant(rescue_is_not_repeated detail/claimer.hpp
    "later(clock().now(), std::min(pace().interval, ledger_.parts.strategy.beat()));"
    "TimePoint::max();")
fila_mutant(stop_spends_an_attempt detail/invoke.hpp
    "flight_.outcome(i) = release(), flight_.verdict(i) = Verdict::returned;"
    "flight_.outcome(i) = retry(Duration{1}), flight_.verdict(i) = Verdict::returned;")
fila_mutant(stop_keeps_what_has_not_started detail/invoke.hpp
    "if (!m.lost.load(std::memory_order_relaxed))"
    "if (m.lost.load(std::memory_order_relaxed))")
fila_mutant(throw_completes detail/invoke.hpp
    "put(i, decide(i, what, nullptr), Verdict::thrown);"
    "put(i, Outcome{}, Verdict::thrown);")
fila_mutant(settle_in_doubt_is_given_up detail/settler.hpp
    "auto const before = ledger_.settles.failed();"
    "at_ += n, part_ = settlements_.size(); return; auto const before = 0u;")
fila_mutant(commit_is_forgotten detail/worker.hpp
    "if constexpr (!FinishingTransaction<T>) transaction.commit();"
    "")
fila_mutant(settled_before_the_handler_ends detail/worker.hpp
    "if (!ran_) return run();"
    "if constexpr (L::shared)
            if (!ran_)
                for (auto i = chunk_->begin; i < chunk_->end; ++i) try {
                        settlement_t<typename L::S> const s{chunk_->flight->ticket(i), Outcome{}, nullptr};
                        Ack ack{};
                        ledger_.parts.store.settle(std::span{&s, 1}, std::span{&ack, 1});
                    } catch (...) {
                    }
        if (!ran_) return run();")
fila_mutant(row_is_begun_on_a_lease_that_ran_out detail/invoke.hpp
    "run_out_ = P::leasing && flight_.run_out(now);"
    "static_cast<void>(now);")
fila_mutant(errand_for_nothing_keeps_its_slot detail/ledger.hpp
    "row ? tally.tell(RowsClaimed{1}) : parts.limiter.release(1);"
    "if (row) tally.tell(RowsClaimed{1});")
fila_mutant(errand_rings_nobody detail/ledger.hpp
    "if (room || stopping()) claimer->bell().ring();"
    "static_cast<void>(room);")
fila_mutant(cursor_of_an_errand_is_not_kept detail/errands.hpp
    "cursor_ = errand.result.cursor;"
    "cursor_ = {};")
