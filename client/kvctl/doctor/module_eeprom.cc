#include "client/kvctl/doctor/module_eeprom.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace dunlin::kvctl {
namespace {

using Memory = std::span<const uint8_t>;

uint16_t Word(Memory memory, size_t at) {
  return static_cast<uint16_t>(memory[at] << 8 | memory[at + 1]);
}

// All three layouts measure in 1/256 degrees and in 0.1 microwatts.
double Celsius(Memory memory, size_t at) { return static_cast<int16_t>(Word(memory, at)) / 256.0; }
double Microwatts(Memory memory, size_t at) { return Word(memory, at) / 10.0; }

absl::Status NoDiagnostics() {
  return absl::UnavailableError("the module has no digital diagnostics, as copper cables have not");
}

absl::StatusOr<ModuleReadings> ReadSff8472(Memory memory) {
  // Page A2h follows the 256 bytes of page A0h, whose byte 92 says whether it is there, and whether
  // the readings need a calibration of their own (bit 4), which is not worth doing here.
  constexpr size_t kPage = 256, kDiagnosticsByte = 92;
  constexpr uint8_t kImplemented = 0x40, kExternallyCalibrated = 0x10;
  if (memory.size() < 2 * kPage) return NoDiagnostics();
  if ((memory[kDiagnosticsByte] & kImplemented) == 0) return NoDiagnostics();
  if ((memory[kDiagnosticsByte] & kExternallyCalibrated) != 0) {
    return absl::UnavailableError("the module's readings are externally calibrated");
  }
  ModuleReadings readings;
  readings.celsius = Celsius(memory, kPage + 96);
  readings.celsius_alarm = Celsius(memory, kPage + 0);
  readings.celsius_warning = Celsius(memory, kPage + 4);
  readings.transmit_microwatts = {Microwatts(memory, kPage + 102)};
  readings.receive_microwatts = {Microwatts(memory, kPage + 104)};
  readings.receive_low_alarm = Microwatts(memory, kPage + 34);
  readings.receive_low_warning = Microwatts(memory, kPage + 38);
  return readings;
}

absl::StatusOr<ModuleReadings> ReadSff8636(Memory memory) {
  constexpr size_t kLowerPage = 128, kLanes = 4, kThresholds = 512, kWithThresholds = 640;
  if (memory.size() < kLowerPage) return NoDiagnostics();
  ModuleReadings readings;
  readings.celsius = Celsius(memory, 22);
  if (*readings.celsius == 0 && Word(memory, 26) == 0) return NoDiagnostics();  // no supply voltage
  for (size_t lane = 0; lane < kLanes; ++lane) {
    readings.receive_microwatts.push_back(Microwatts(memory, 34 + 2 * lane));
    readings.transmit_microwatts.push_back(Microwatts(memory, 50 + 2 * lane));
  }
  if (memory.size() < kWithThresholds) return readings;
  readings.celsius_alarm = Celsius(memory, kThresholds);
  readings.celsius_warning = Celsius(memory, kThresholds + 4);
  readings.receive_low_alarm = Microwatts(memory, kThresholds + 50);
  readings.receive_low_warning = Microwatts(memory, kThresholds + 54);
  return readings;
}

absl::StatusOr<ModuleReadings> ReadCmis(Memory memory) {
  if (memory.size() < 128 || Word(memory, 16) == 0) return NoDiagnostics();
  ModuleReadings readings;
  readings.celsius = Celsius(memory, 14);
  return readings;
}

// SFF-8024 identifiers of modules with CMIS memory: QSFP-DD, OSFP, QSFP+ with CMIS.
bool IsCmis(uint8_t identifier) {
  return identifier == 0x18 || identifier == 0x19 || identifier == 0x1e;
}

}  // namespace

absl::StatusOr<ModuleReadings> ReadModule(ModuleLayout layout, Memory memory) {
  if (!memory.empty() && IsCmis(memory[0])) return ReadCmis(memory);
  switch (layout) {
    case ModuleLayout::kSff8079:
      return NoDiagnostics();
    case ModuleLayout::kSff8472:
      return ReadSff8472(memory);
    case ModuleLayout::kSff8636:
    case ModuleLayout::kSff8436:
      return ReadSff8636(memory);
  }
  return absl::UnavailableError(
      absl::StrCat("module memory of an unknown layout, ", static_cast<uint32_t>(layout)));
}

}  // namespace dunlin::kvctl
