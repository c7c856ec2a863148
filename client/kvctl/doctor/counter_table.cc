#include "client/kvctl/doctor/counter_table.h"

namespace dunlin::kvctl {
namespace {

using enum CounterKind;

// The names are those of Linux 6.1: drivers/infiniband/hw/mlx5/counters.c,
// sw/rxe/rxe_hw_counters.c, hw/irdma/verbs.c, hw/cxgb4/provider.c, hw/bnxt_re/hw_counters.c. siw
// has none.
constexpr CounterMeaning kHardware[] = {
    // mlx5
    {"out_of_sequence", kLoss, "packets that arrived out of order"},
    {"packet_seq_err", kLoss, "answers that a packet before was missing"},
    {"implied_nak_seq_err", kLoss, "READ answers that showed a gap"},
    {"local_ack_timeout_err", kLoss, "timeouts waiting for an acknowledgement"},
    {"roce_adp_retrans", kLoss, "adaptive retransmissions"},
    {"roce_adp_retrans_to", kLoss, "adaptive retransmissions after a timeout"},
    {"rx_icrc_encapsulated", kLoss, "packets with a wrong checksum"},
    {"rnr_nak_retry_err", kReceiver, "answers that the receiver had no buffer"},
    {"out_of_buffer", kReceiver, "packets dropped for want of a receive buffer"},
    {"req_transport_retries_exceeded", kExceeded, "requests given up after all retries"},
    {"req_rnr_retries_exceeded", kExceeded, "requests given up, the receiver never ready"},
    {"np_cnp_sent", kCongestion, "congestion notifications sent"},
    {"rp_cnp_handled", kCongestion, "congestion notifications obeyed"},
    {"rp_cnp_ignored", kCongestion, "congestion notifications ignored"},
    {"np_ecn_marked_roce_packets", kCongestion, "packets that a switch marked"},
    {"roce_slow_restart_cnps", kCongestion, "congestion notifications by slow restarts"},
    // mlx5 and rxe
    {"duplicate_request", kLoss, "requests that came twice: an acknowledgement was lost or late"},
    // rxe
    {"out_of_seq_request", kLoss, "requests that arrived out of order"},
    {"rcvd_seq_err", kLoss, "answers that a packet before was missing"},
    {"completer_retry_err", kLoss, "retries: timeouts waiting for an acknowledgement"},
    {"send_err", kLoss, "packets that the interface didn't take"},
    {"rcvd_rnr_err", kReceiver, "answers that the receiver had no buffer"},
    {"send_rnr_err", kReceiver, "answers sent that there was no buffer"},
    {"retry_exceeded_err", kExceeded, "requests given up after all retries"},
    {"retry_rnr_exceeded_err", kExceeded, "requests given up, the receiver never ready"},
    {"link_downed", kWire, "times the link went down"},
    // bnxt_re
    {"seq_err_naks_rcvd", kLoss, "answers that a packet before was missing"},
    {"to_retransmits", kLoss, "retransmissions after a timeout"},
    {"missing_resp", kLoss, "answers that went missing"},
    {"dup_req", kLoss, "requests that came twice"},
    {"oos_drop_count", kLoss, "packets dropped out of order"},
    {"rx_roce_discards", kLoss, "RoCE packets dropped on the way in"},
    {"max_retry_exceeded", kExceeded, "requests given up after all retries"},
    {"rnr_naks_rcvd", kReceiver, "answers that the receiver had no buffer"},
    // irdma
    {"tcpRetransSegs", kRetransmit, "TCP segments sent again"},
    {"tcpInProtoErrors", kRetransmit, "TCP segments with a protocol error"},
    {"ip4InDiscards", kRetransmit, "IPv4 packets dropped on the way in"},
    {"ip6InDiscards", kRetransmit, "IPv6 packets dropped on the way in"},
    {"cnpSent", kCongestion, "congestion notifications sent"},
    {"cnpHandled", kCongestion, "congestion notifications obeyed"},
    {"cnpIgnored", kCongestion, "congestion notifications ignored"},
    {"RxECNMrkd", kCongestion, "packets that a switch marked"},
    // cxgb4
    {"ip4RetransSegs", kRetransmit, "TCP segments sent again, over IPv4"},
    {"ip6RetransSegs", kRetransmit, "TCP segments sent again, over IPv6"},
    {"ip4OutRsts", kRetransmit, "TCP resets sent, over IPv4"},
    {"ip6OutRsts", kRetransmit, "TCP resets sent, over IPv6"},
};

// Documentation/ABI/stable/sysfs-class-infiniband; the names as drivers/infiniband/core/sysfs.c has
// them.
constexpr CounterMeaning kPort[] = {
    {"symbol_error", kWire, "errors on one or more lanes"},
    {"link_error_recovery", kWire, "times the link recovered by training"},
    {"link_downed", kWire, "times the link went down"},
    {"port_rcv_errors", kWire, "packets received with an error"},
    {"port_rcv_remote_physical_errors", kWire, "packets marked bad by an end before"},
    {"local_link_integrity_errors", kWire, "times that too many bits were wrong"},
    {"excessive_buffer_overrun_errors", kWire, "overruns of the input buffer"},
    {"port_rcv_switch_relay_errors", kWire, "packets that a switch couldn't forward"},
    {"port_xmit_discards", kDiscard, "packets dropped on the way out: congested or down"},
    {"VL15_dropped", kDiscard, "management packets dropped"},
};

}  // namespace

std::span<const CounterMeaning> HardwareCounters() { return kHardware; }
std::span<const CounterMeaning> PortCounters() { return kPort; }

}  // namespace dunlin::kvctl
