import BatonHost
import BatonModel
import ContractRows
import HostFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite("How input devices make a host busy, and idle again")
struct InputTests {
  @Test("a touched keyboard is busy at once and idle after three minutes, by its interrupts")
  func interrupts() throws {
    try IdleBench.with(IdleFiles.bare + IdleFiles.input("event3") + IdleFiles.interrupts(100)) { bench in
      try bench.pass(200)
      #expect(bench.isIdle == true)
      try bench.folder.write(IdleFiles.interrupts(101).values.first!, to: "proc/interrupts")
      try bench.pass()
      #expect(bench.raw == "i8042 used 0 s ago")
      try bench.pass(179)
      #expect(bench.isIdle == false)
      try bench.pass(1)
      #expect(bench.raw == "no input for 3 min, load 3 %")
    }
  }

  @Test(
    "a USB device counts if it is nothing but keyboards and mice",
    arguments: [
      (["03"], nil, true), (["03", "03"], nil, true), (["03", "01"], nil, false), (["08"], nil, false),
      (["03"], IdleFiles.keyboardKeys, true), (["03"], IdleFiles.touchKeys, true),
      (["03"], IdleFiles.gamepadKeys, false),
      (["03"], IdleFiles.powerKeys, false),
    ] as [([String], String?, Bool)])
  func usb(classes: [String], keys: String?, counts: Bool) throws {
    let files =
      IdleFiles.input("event3", bus: "0003") + IdleFiles.usb("1-2", transfers: 50, classes: classes, inputKeys: keys)
    try IdleBench.with(IdleFiles.bare + files) { bench in
      try bench.pass(200)
      #expect(bench.isIdle == (counts ? true : nil), "\(bench.raw)")
      try bench.folder.write("53", to: "sys/bus/usb/devices/1-2/urbnum")
      try bench.pass(1)
      #expect(bench.source == (counts ? "input" : nil))
    }
  }

  @Test("a UPS on USB reports all the time and is nobody")
  func ups() throws {
    var files = IdleFiles.usb("1-4", transfers: 50)
    files["sys/bus/usb/devices/1-4:1.0/bInterfaceSubClass"] = "00"
    files["sys/bus/usb/devices/1-4:1.0/bInterfaceProtocol"] = "00"
    let keyboard = IdleFiles.input("event3", bus: "0003") + IdleFiles.usb("1-2", transfers: 50)
    try IdleBench.with(IdleFiles.bare + keyboard + files) { bench in
      for second in 0..<200 {
        try bench.folder.write("\(50 + second * 100)", to: "sys/bus/usb/devices/1-4/urbnum")
        try bench.pass(1)
      }
      #expect(bench.isIdle == true)
    }
  }

  @Test("asking a keyboard for its battery is not using it")
  func battery() throws {
    try IdleBench.with(IdleFiles.bare + IdleFiles.input("event3", bus: "0003") + IdleFiles.usb("1-2", transfers: 50)) {
      bench in
      try bench.pass(200)
      try bench.folder.write("52", to: "sys/bus/usb/devices/1-2/urbnum")
      try bench.pass(1)
      #expect(bench.isIdle == true)
      try bench.folder.write("55", to: "sys/bus/usb/devices/1-2/urbnum")
      try bench.pass(1)
      #expect(bench.isIdle == false)
    }
  }

  @Test("a device that is plugged in was touched")
  func plugging() throws {
    try IdleBench.with(IdleFiles.bare + IdleFiles.seat) { bench in
      try bench.pass(20)
      #expect(bench.isIdle == true)
      for (file, contents) in IdleFiles.input("event9", bus: "0003") { try bench.folder.write(contents, to: file) }
      try bench.pass(10)
      #expect(bench.raw.hasPrefix("event9 plugged in "), "\(bench.raw)")
    }
  }

  @Test("a device that may be opened is emptied, and what was in it is gone")
  func devices() throws {
    try IdleBench.with(IdleFiles.bare + IdleFiles.input("event3", bus: "0005")) { bench in
      let pipe = try Pipe(bench.folder, "dev/input/event3")
      try bench.pass(200)
      #expect(bench.raw == "no input for 3 min, load 3 %")
      pipe.write("secret")
      try bench.pass()
      #expect(bench.raw == "event3 used 0 s ago")
      #expect(pipe.waiting == 0)
      try bench.pass(180)
      #expect(bench.isIdle == true)
    }
  }

  @Test("where the owner does not want it, no device is opened")
  func unopened() throws {
    var settings = IdleSettings()
    settings.readsInputDevices = false
    try IdleBench.with(IdleFiles.bare + IdleFiles.input("event3", bus: "0005"), settings: settings) { bench in
      let pipe = try Pipe(bench.folder, "dev/input/event3")
      try bench.pass(10)
      pipe.write("secret")
      try bench.pass(200)
      #expect(pipe.waiting == 6)
      #expect(bench.verdict == .unknown(raw: "input devices cannot be read", looksUnused: false))
    }
  }

  @Test("a device that vanished while it was open is no touch, and the others go on")
  func unplugged() throws {
    try IdleBench.with(IdleFiles.bare + IdleFiles.input("event3", bus: "0005") + IdleFiles.input("event4", bus: "0005"))
    {
      bench in
      let pipes = [try Pipe(bench.folder, "dev/input/event3"), try Pipe(bench.folder, "dev/input/event4")]
      try bench.pass(200)
      bench.folder.remove("sys/class/input/event3")
      bench.folder.remove("dev/input/event3")
      try bench.pass(20)
      #expect(bench.isIdle == true)
      pipes[1].write("x")
      try bench.pass()
      #expect(bench.raw == "event4 used 0 s ago")
    }
  }
}

/// A named pipe in place of an input device. This type holds its other end open.
private final class Pipe {
  private let descriptor: Int32

  init(_ folder: MachineFolder, _ file: String) throws {
    try folder.write("", to: file)
    folder.remove(file)
    let path = folder.path + "/" + file
    try #require(mkfifo(path, 0o600) == 0)
    descriptor = open(path, O_RDWR | O_NONBLOCK)
    try #require(descriptor >= 0)
  }

  deinit { close(descriptor) }

  func write(_ text: String) { _ = text.withCString { put(descriptor, $0, strlen($0)) } }

  /// The number of bytes that were written and not read yet, at most 100. This property reads them.
  var waiting: Int {
    var bytes = [UInt8](repeating: 0, count: 100)
    return max(0, take(descriptor, &bytes, 100))
  }
}

private func put(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}
private func take(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
  read(descriptor, bytes, count)
}
