import Foundation
import NIOCore
import NIOPosix

/// A program from the folder `.build/sink`, which `Scripts/setup-sink` makes.
struct Sink {
  let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  struct Missing: Error, CustomStringConvertible {
    var program: String
    var description: String { "\(program) is not there; run Scripts/setup-sink" }
  }

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
    path: "../../.build/sink/bin"
  ).standardizedFileURL

  /// A Python program that unblocks signals and then runs the real program. Without it, the program would have signals
  /// blocked, as the test process has. The program is ended after 40 s at the latest.
  private static let start = """
    import os, signal, sys
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.alarm(40)
    os.execv(sys.argv[1], sys.argv[1:])
    """

  /// Starts the program.
  init(_ program: String, _ arguments: [String]) throws {
    let (python, program) = (Self.folder.appending(path: "python3"), Self.folder.appending(path: program))
    for url in [python, program] where !FileManager.default.isExecutableFile(atPath: url.path) {
      throw Missing(program: url.path)
    }
    (process.executableURL, process.arguments) = (python, ["-c", Self.start, program.path] + arguments)
    (process.standardInput, process.standardOutput, process.standardError) = (input, output, output)
    try process.run()
  }

  /// Writes `text` to the program's input, and returns all that the program prints until it ends.
  func finish(_ text: String = "") throws -> String {
    try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    try input.fileHandleForWriting.close()
    let printed = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: printed, as: UTF8.self)
  }

  /// A port of the loopback on which no program listens. Another program may listen there later, but the kernel does
  /// not assign the same port again soon.
  static func freePort() async throws -> Int {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(
      host: "127.0.0.1", port: 0
    ).get()
    let port = channel.localAddress?.port
    try await channel.close()
    return port ?? 0
  }
}
