/// Whether an input device is one that people sit before, by what it can report (Linux,
/// Documentation/input/event-codes.rst, <linux/input-event-codes.h>; the same rules as udev's `input_id`).
///
/// Keyboards, mice, touchpads, touch screens and pens are. Power buttons, lids and sockets of headphones are not: they
/// are at every server. Game pads and accelerometers are not: many report without anybody near them.
struct InputCapabilities: Hashable, Sendable {
  let isForPeople: Bool

  /// - Parameter folder: of the input device, such as `sys/class/input/event3/device`.
  init(root: SystemRoot, folder: String) {
    func bits(_ name: String) -> BitList { BitList(root.string("\(folder)/\(name)") ?? "") }
    let keys = bits("capabilities/key")
    let (moves, points) = (bits("capabilities/rel").has(0), bits("capabilities/abs").has(0))
    // KEY_ESC to KEY_S: all of a keyboard's first rows, which no button panel has.
    let isKeyboard = (1...31).allSatisfy(keys.has)
    let isMouse = (moves || points) && keys.has(0x110)  // BTN_MOUSE
    // BTN_TOOL_PEN, BTN_TOOL_FINGER, BTN_TOUCH
    let isTouched = points && (keys.has(0x140) || keys.has(0x145) || keys.has(0x14a))
    // INPUT_PROP_ACCELEROMETER
    isForPeople = (isKeyboard || isMouse || isTouched) && !bits("properties").has(6)
  }
}

/// Bits as the kernel prints them for input devices: hexadecimal words of `long`, the highest first.
struct BitList: Hashable, Sendable {
  private let words: [UInt]

  init(_ text: String) { words = text.split(separator: " ").reversed().map { UInt($0, radix: 16) ?? 0 } }

  func has(_ bit: Int) -> Bool {
    let (word, place) = bit.quotientAndRemainder(dividingBy: UInt.bitWidth)
    return word < words.count && words[word] & (1 << UInt(place)) != 0
  }
}
