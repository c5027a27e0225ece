import BatonProcess

/// Tells whether a person operates an input device, from the events that it can report (Linux,
/// Documentation/input/event-codes.rst, <linux/input-event-codes.h>; the same rules as udev's `input_id`).
///
/// Keyboards, mice, touchpads, touch screens and pens count. Power buttons, lids and headphone sockets do not, because
/// every server has them. Game pads and accelerometers do not, because many of them report events while no person is
/// near.
struct InputCapabilities: Hashable, Sendable {
  let isForPeople: Bool

  /// - Parameter folder: the folder of the input device, such as `sys/class/input/event3/device`.
  init(root: SystemRoot, folder: String) {
    func bits(_ name: String) -> BitList { BitList(root.string("\(folder)/\(name)") ?? "") }
    let keys = bits("capabilities/key")
    let (moves, points) = (bits("capabilities/rel").has(0), bits("capabilities/abs").has(0))
    // KEY_ESC to KEY_S: the first rows of every keyboard. No panel of buttons has all of these keys.
    let isKeyboard = (1...31).allSatisfy(keys.has)
    let isMouse = (moves || points) && keys.has(0x110)  // BTN_MOUSE
    // BTN_TOOL_PEN, BTN_TOOL_FINGER, BTN_TOUCH
    let isTouched = points && (keys.has(0x140) || keys.has(0x145) || keys.has(0x14a))
    // INPUT_PROP_ACCELEROMETER
    isForPeople = (isKeyboard || isMouse || isTouched) && !bits("properties").has(6)
  }
}

/// A bit set as the kernel prints it for input devices: hexadecimal words of the size of a C `long`, the highest word
/// first.
struct BitList: Hashable, Sendable {
  private let words: [UInt]

  init(_ text: String) { words = text.split(separator: " ").reversed().map { UInt($0, radix: 16) ?? 0 } }

  func has(_ bit: Int) -> Bool {
    let (word, place) = bit.quotientAndRemainder(dividingBy: UInt.bitWidth)
    return word < words.count && words[word] & (1 << UInt(place)) != 0
  }
}
