import BatonHost
import BatonModel
import HostFixtures
import Synchronization
import Testing

@testable import BatonProcess

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A simulated host over some minutes: its files, its clocks, and a probe that reads again and again.
final class IdleBench {
  let folder: MachineFolder
  var now = Instant.second(1000)
  var date = Timestamp(nanoseconds: 1_790_000_000_000_000_000)
  var logind: LogindAnswer?
  var isWorking = false
  /// The load of other programs and the load of Baton itself, each in per cent of the four processors.
  var (load, ownLoad) = (3, 0)
  private(set) var verdict = IdleVerdict.unknown(raw: "not read", looksUnused: false)
  private var probe: IdleProbe
  private var (busy, total) = (0, 0)
  private let ownTime = OwnTime()

  init(_ folder: MachineFolder, settings: IdleSettings = IdleSettings(), ownIsKnown: Bool = true) {
    self.folder = folder
    probe = IdleProbe(root: folder.root, settings: settings) { [ownTime] in
      ownIsKnown ? ownTime.value.withLock { $0 } : nil
    }
  }

  static func with(
    _ files: MachineFolder.Files, settings: IdleSettings = IdleSettings(), ownIsKnown: Bool = true,
    _ body: (IdleBench) throws -> Void
  ) throws {
    try MachineFolder.with(files) { try body(IdleBench($0, settings: settings, ownIsKnown: ownIsKnown)) }
  }

  private final class OwnTime: Sendable { let value = Mutex(Duration.zero) }

  var desktops: [String] { probe.desktops }

  /// Reads now, and then again every `step` seconds until `seconds` have passed.
  func pass(_ seconds: Int = 0, every step: Int = 1) throws {
    read()
    for _ in 0..<seconds / step {
      try tick(step)
      read()
    }
    if seconds % step > 0 { try pass(seconds % step) }
  }

  private func read() { verdict = probe.read(at: now, date: date, logind: logind, isWorking: isWorking) }

  private func tick(_ seconds: Int) throws {
    now = now + .seconds(seconds)
    date = date + .seconds(seconds)
    busy += (load + ownLoad) * 4 * seconds
    total += 400 * seconds
    ownTime.value.withLock { $0 += .milliseconds(ownLoad * 40 * seconds) }
    if folder.root.exists("proc/stat") { try writeStat() }
  }

  private func writeStat() throws {
    // Busy time is split into user and system time, and the rest into idle time and waiting for disks.
    let rest = total - busy
    let all = "cpu  \(busy / 2) 0 \(busy - busy / 2) \(rest / 2) \(rest - rest / 2) 0 0 0 0 0"
    let file = try #require(fopen(folder.path + "/proc/stat", "w"))
    fputs(all + "\ncpu0 1 1 1 1 1 0 0 0 0 0\n", file)
    fclose(file)
  }

  /// Types on a terminal, which is made if it does not exist.
  /// - Parameter ago: how long ago this happened, by the wall clock.
  func type(on terminal: String, ago: Duration = .zero) throws {
    let path = folder.path + "/dev/" + terminal
    if access(path, F_OK) != 0 { try folder.write("", to: "dev/" + terminal) }
    let seconds = (date + (.zero - ago)).nanoseconds / 1_000_000_000
    var times = [timeval(tv_sec: Int(seconds), tv_usec: 0), timeval(tv_sec: Int(seconds), tv_usec: 0)]
    try #require(utimes(path, &times) == 0)
  }

  /// `true` if the host is known to be idle, `false` if it is known to be busy, `nil` if neither is known.
  var isIdle: Bool? { if case .known(let reading) = verdict { reading.value } else { nil } }
  var source: String? { if case .known(let reading) = verdict { reading.source } else { nil } }
  var raw: String {
    switch verdict {
    case .known(let reading): reading.raw
    case .unknown(let raw, _): raw
    }
  }
  var looksUnused: Bool { if case .unknown(_, true) = verdict { true } else { false } }
}

/// The files of simulated hosts.
enum IdleFiles {
  static let bare: MachineFolder.Files = [
    "proc/stat": "cpu  0 0 0 0 0 0 0 0 0 0", "proc/pressure/memory": pressure(0), "proc/pressure/io": pressure(0),
    "proc/pressure/cpu": pressure(0),
  ]

  static func pressure(_ share: Double) -> String {
    let text = "\((share * 100).rounded() / 100)"
    let padded = text + String(repeating: "0", count: 3 - text.drop { $0 != "." }.count)
    return "some avg10=\(padded) avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0"
  }

  static let seat = [
    "run/systemd/seats/seat0": "# This is private data. Do not parse.\nIS_SEAT0=1\nCAN_TTY=1\nCAN_GRAPHICAL=0"
  ]

  static func session(
    _ name: String, type: String = "wayland", category: String = "user", seat: String = "seat0", isActive: Bool = true,
    state: String = "active", more: String = ""
  ) -> MachineFolder.Files {
    var text = "# This is private data. Do not parse.\nUID=1000\nUSER=anna\nACTIVE=\(isActive ? 1 : 0)\nSTATE=\(state)"
    text += "\nREMOTE=\(seat.isEmpty ? 1 : 0)\nTYPE=\(type)\nORIGINAL_TYPE=\(type)\nCLASS=\(category)\n\(more)"
    if !seat.isEmpty { text += "\nSEAT=\(seat)" }
    return seat.isEmpty || seat == "seat0"
      ? Self.seat.merging(["run/systemd/sessions/\(name)": text]) { $1 }
      : ["run/systemd/seats/\(seat)": "IS_SEAT0=0", "run/systemd/sessions/\(name)": text]
  }

  static func input(
    _ name: String, bus: String = "0011", key: String = keyboardKeys, rel: String = "0", abs: String = "0",
    properties: String = "0"
  ) -> MachineFolder.Files {
    let folder = "sys/class/input/\(name)/device"
    return [
      "\(folder)/capabilities/key": key, "\(folder)/capabilities/rel": rel, "\(folder)/capabilities/abs": abs,
      "\(folder)/properties": properties, "\(folder)/id/bustype": bus,
    ]
  }

  static let keyboardKeys = "fffffffffffffffe"
  /// The file `capabilities/key` of a device that has only BTN_LEFT.
  static let mouseKeys = "10000 0 0 0 0"
  /// The file `capabilities/key` of a device that has only BTN_TOUCH.
  static let touchKeys = "400 0 0 0 0 0"
  /// The file `capabilities/key` of a device that has only BTN_GAMEPAD.
  static let gamepadKeys = "1000000000000 0 0 0 0"
  /// The file `capabilities/key` of a device that has only KEY_POWER.
  static let powerKeys = "10000000000000 0"

  static func interrupts(_ keyboard: Int, name: String = "i8042") -> MachineFolder.Files {
    [
      "proc/interrupts": """
                 CPU0       CPU1
        0:         39          0   IO-APIC   2-edge      timer
        1:          0       \(keyboard)   IO-APIC   1-edge      \(name)
       16:       8000       9000   IO-APIC  16-fasteoi   ehci_hcd:usb1
      NMI:          1          2   Non-maskable interrupts
      """
    ]
  }

  /// The files of a USB device with one interface for each of `classes`.
  /// - Parameter inputKeys: the keys of each interface's input device; `nil` makes each interface that of a boot
  ///   keyboard.
  static func usb(
    _ device: String, transfers: Int, classes: [String] = ["03"], inputKeys: String? = nil
  )
    -> MachineFolder.Files
  {
    let folder = "sys/bus/usb/devices"
    var files = ["\(folder)/\(device)/urbnum": "\(transfers)", "\(folder)/\(device)/bDeviceClass": "00"]
    for (place, category) in classes.enumerated() {
      let interface = "\(folder)/\(device):1.\(place)"
      files["\(interface)/bInterfaceClass"] = category
      files["\(interface)/bInterfaceSubClass"] = inputKeys == nil ? "01" : "00"
      files["\(interface)/bInterfaceProtocol"] = inputKeys == nil ? "01" : "00"
      if let inputKeys {
        files["\(interface)/0003:046D:C52B.0001/input/input7/capabilities/key"] = inputKeys
        files["\(interface)/0003:046D:C52B.0001/input/input7/capabilities/abs"] = "3"
      }
    }
    return files
  }
}

extension MachineFolder.Files {
  static func + (left: Self, right: Self) -> Self { left.merging(right) { $1 } }
}
