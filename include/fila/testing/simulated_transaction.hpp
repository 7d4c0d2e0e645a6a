// SPDX-License-Identifier: MIT
// SimulatedTransaction: a transaction over the network of a simulated world. Its commit may be lost, be carried
// out unheard, or be carried out late, the rows being locked until then.
#pragma once

#include <fila/testing/simulated_network.hpp>

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace fila::inline v1::testing {

template <class Table>
class SimulatedTransaction {
    using Network = SimulatedNetwork<Table>;

public:
    using row_type = row_t<Table>;
    using key_type = key_t<Table>;
    using cursor_type = cursor_t<Table>;

    /// `inner` is the table's own.
    template <class Inner>
    SimulatedTransaction(Network& network, int machine, Inner inner)
        : open_{std::make_shared<Open>(network, machine, std::move(inner))} {}

    ClaimResult<cursor_type> claim(ClaimRequest<cursor_type> const& request, batch_t<Table>& out) {
        auto& network = open_->network;
        network.before("claim", [] {});
        auto const result = open_->inner->claim(request, out);
        network.claimed(out, request.limit, open_->machine, forever, false);
        for (auto const& t : out.tickets()) open_->locked.push_back(t.key);
        network.after("claim");
        return result;
    }
    void settle(std::span<settlement_t<Table> const> settlements, std::span<Ack> acks) {
        open_->network.before("settle", [] {});
        open_->inner->settle(settlements, acks);
        for (std::size_t i = 0; i < settlements.size(); ++i)
            if (acks[i] == Ack::applied)
                open_->settled.push_back({settlements[i].ticket, settlements[i].outcome});
        open_->network.after("settle");
    }
    void mark() {
        open_->network.before("mark", [] {});
        open_->inner->mark();
        open_->marked = open_->settled.size();
    }
    void back() {
        open_->network.before("back", [] {});
        open_->inner->back();
        open_->settled.resize(open_->marked);
    }
    void commit() {
        // The sender lets go of it when it gives up; the request holds it until it arrives.
        open_->network.before("commit", [open = open_] { open->commit(); });
        open_->commit();
        open_->network.after("commit");
    }

private:
    struct Said {
        ticket_t<Table> ticket;
        Outcome outcome;
    };
    struct Open {
        template <class Inner>
        Open(Network& n, int m, Inner i) : network{n}, machine{m}, inner{std::move(i)} {}
        Open(Open const&) = delete;
        Open& operator=(Open const&) = delete;
        ~Open() {
            for (auto const& key : locked) network.audit().let_go(key, machine);
        }
        void commit() {
            inner->commit();
            for (auto const& s : settled)
                network.audit().settled(s.ticket, machine, network.now(), s.outcome);
        }
        Network& network;
        int machine;
        std::optional<typename Table::transaction_type> inner;
        std::vector<key_type> locked{};
        std::vector<Said> settled{};
        std::size_t marked = 0;
    };
    std::shared_ptr<Open> open_;
};

}  // namespace fila::inline v1::testing
