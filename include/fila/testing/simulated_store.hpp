// SPDX-License-Identifier: MIT
// SimulatedStore: one machine's connection to the table of a simulated world. Requests get lost, answers get
// lost, and a request may arrive after its sender has given it up.
#pragma once

#include <fila/testing/simulated_transaction.hpp>

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace fila::inline v1::testing {

/// A handle, and itself a store: give it to the machine's processor. The verbs that the table has beyond those
/// of a LeasingStore are passed on where they mean something: transactions, inspection.
template <LeasingStore Table>
    requires InspectableStore<Table> && std::copyable<row_t<Table>>
class SimulatedStore {
    using Network = SimulatedNetwork<Table>;

public:
    using row_type = row_t<Table>;
    using key_type = key_t<Table>;
    using cursor_type = cursor_t<Table>;
    using transaction_type = SimulatedTransaction<Table>;

    template <class Ability>
    static constexpr bool offers = offers_v<Table, Ability>;

    /// Machines count from 1.
    SimulatedStore(Network& network, int machine) : network_{&network}, machine_{machine} {}
    /// Whose store it is.
    [[nodiscard]] int machine() const noexcept { return machine_; }

    ClaimResult<cursor_type> claim(ClaimRequest<cursor_type> const& request, batch_t<Table>& out) {
        auto const apply = [network = network_, machine = machine_](auto const& asked, batch_t<Table>& rows) {
            auto result = network->table().claim(asked, rows);
            network->claimed(rows, asked.limit, machine, asked.lease, true);
            network->not_yet_on_disk(rows);
            result.era = network->era();
            return result;
        };
        network_->before("claim", [apply, request] {
            batch_t<Table> nobody;
            (void)apply(request, nobody);
        });
        auto const result = apply(request, out);
        network_->after("claim");
        return result;
    }
    void settle(std::span<settlement_t<Table> const> settlements, std::span<Ack> acks) {
        for (auto const& s : settlements) network_->audit().ran(s.ticket.key, machine_);
        auto const apply = [network = network_, machine = machine_](auto said, std::span<Ack> answers) {
            network->table().settle(said, answers);
            network->on_disk();
            for (std::size_t i = 0; i < said.size(); ++i) {
                if (answers[i] == Ack::applied)
                    network->audit().settled(said[i].ticket, machine, network->now(), said[i].outcome);
                else
                    network->audit().lost();
            }
        };
        network_->before("settle", [apply, letters = Letters{settlements}] {
            std::vector<Ack> nobody(letters.said().size(), Ack::lost);
            apply(letters.said(), std::span{nobody});
        });
        apply(settlements, acks);
        network_->after("settle");
    }
    void extend(std::span<ticket_t<Table> const> tickets, Duration lease, std::span<Ack> acks) {
        auto const apply = [network = network_, machine = machine_, lease](auto which,
                                                                           std::span<Ack> answers) {
            network->table().extend(which, lease, answers);
            for (std::size_t i = 0; i < which.size(); ++i)
                if (answers[i] == Ack::applied)
                    network->audit().extended(which[i], machine, network->until(lease));
        };
        network_->before("extend",
                         [apply, which = std::vector<ticket_t<Table>>(tickets.begin(), tickets.end())] {
                             std::vector<Ack> nobody(which.size(), Ack::lost);
                             apply(std::span<ticket_t<Table> const>{which}, std::span{nobody});
                         });
        apply(tickets, acks);
        network_->after("extend");
    }
    Rescued rescue(RescueLimits const& limits) {
        auto const apply = [network = network_, limits] {
            auto const rescued = network->table().rescue(limits);
            network->audit().rescued(rescued, limits);
            return rescued;
        };
        network_->before("rescue", [apply] { (void)apply(); });
        auto const rescued = apply();
        network_->after("rescue");
        return rescued;
    }

    Counts counts(std::size_t at_most) {
        network_->before("counts", [] {});
        return network_->table().counts(at_most);
    }
    std::vector<DeadLetter<row_type, key_type>> dead_letters(std::size_t at_most) {
        return network_->table().dead_letters(at_most);
    }
    std::size_t redrive(std::span<key_type const> keys) { return network_->table().redrive(keys); }
    std::size_t redrive_all() { return network_->table().redrive_all(); }

    std::optional<transaction_type> begin()
        requires TransactionalStore<Table>
    {
        network_->before("begin", [] {});
        auto inner = network_->table().begin();
        if (!inner) return std::nullopt;
        return transaction_type{*network_, machine_, std::move(*inner)};
    }

private:
    /// Settlements with rows of their own, for when they arrive late.
    class Letters {
    public:
        explicit Letters(std::span<settlement_t<Table> const> settlements)
            : rows_{std::make_shared<std::vector<row_type>>()} {
            rows_->reserve(settlements.size());
            for (auto const& s : settlements) {
                if (s.row) rows_->push_back(*s.row);
                said_.push_back({s.ticket, s.outcome, s.row ? &rows_->back() : nullptr});
            }
        }
        [[nodiscard]] std::span<settlement_t<Table> const> said() const noexcept { return said_; }

    private:
        std::shared_ptr<std::vector<row_type>> rows_;
        std::vector<settlement_t<Table>> said_;
    };

    Network* network_;
    int machine_;
};

}  // namespace fila::inline v1::testing
