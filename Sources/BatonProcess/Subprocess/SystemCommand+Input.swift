import BatonModel
import CBatonProcess
import Subprocess

#if canImport(System)
  import System
#else
  import SystemPackage
#endif

extension SystemCommand {
  /// The most bytes that `feed` gives to a program: what a pipe holds whether or not the program reads it.
  package static let mostInput = 32 << 10

  /// Runs a program with `input` on its standard input, for at most `patience`, with no environment but a search path.
  /// It is killed with its process group when the time is over, and what it leaves in the group ends with it.
  /// - Parameters:
  ///   - arguments: the path of the program, and its arguments.
  ///   - input: at most `mostInput` bytes; what is longer is a failure.
  package static func feed(_ arguments: [String], _ input: [UInt8], within patience: Duration) async -> Answer {
    guard let executable = find(arguments.first ?? "") else { return .missing }
    guard input.count <= mostInput else { return .failed("the input is larger than \(mostInput) bytes") }
    let configuration = configuration(executable, Array(arguments.dropFirst()), [:])
    return await answer(arguments[0], within: patience) { await start(executable, configuration, feeding: input) }
  }

  private static func start(
    _ executable: String, _ configuration: Configuration, feeding input: [UInt8]
  ) async
    -> Answer
  {
    let place = ChildTable.reserve()
    defer { ChildTable.forget(place) }
    do {
      // The pipe has room for all of the input before the program runs, so that a program that does not read it breaks
      // nothing.
      let (readEnd, writeEnd) = try pipe()
      do {
        defer { try? writeEnd.close() }
        try writeEnd.writeAll(input)
      } catch {
        try? readEnd.close()
        throw error
      }
      let result = try await Subprocess.run(
        configuration, input: .fileDescriptor(readEnd, closeAfterSpawningProcess: true), output: .sequence,
        error: .sequence
      ) { execution in
        let process = RunningProcess(pid: execution.processIdentifier.value)
        ChildTable.remember(process.pid, at: place)
        async let output = Self.read(execution.standardOutput, Self.mostOutput, keepsEnd: false)
        async let errors = Self.read(execution.standardError, Self.mostErrors, keepsEnd: true)
        await process.exit()
        process.finish()
        return (output: await output, errors: await errors)
      }
      if result.terminationStatus.isSuccess { return .output(result.closureResult.output) }
      let said = result.closureResult.errors.split(separator: "\n").last.map { ": \($0)" } ?? ""
      return .failed("\(executable) ended with \(result.terminationStatus)\(said)")
    } catch {
      return .failed("\(executable): \(error)")
    }
  }

  private static let (mostOutput, mostErrors) = (64 << 10, 16 << 10)

  /// Reads all that a program prints, and keeps its beginning or its end. A program that prints more than that has not
  /// failed, and must not be ended by it: what it does for the input would be done again.
  private static func read(_ printed: SubprocessOutputSequence, _ most: Int, keepsEnd: Bool) async -> String {
    var bytes: [UInt8] = []
    do {
      for try await buffer in printed {
        if keepsEnd {
          bytes = Array((bytes + buffer.withUnsafeBytes { Array($0) }).suffix(most))
        } else if bytes.count < most {
          bytes += buffer.withUnsafeBytes { Array($0.prefix(most - bytes.count)) }
        }
      }
    } catch {
      // What was read counts. The exit status says what became of the program.
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A pipe that other programs which are started meanwhile do not inherit: they would keep it open.
  private static func pipe() throws -> (readEnd: FileDescriptor, writeEnd: FileDescriptor) {
    var ends: (CInt, CInt) = (-1, -1)
    let problem = baton_pipe(&ends.0, &ends.1, 0)
    guard problem == 0 else { throw Errno(rawValue: problem) }
    return (FileDescriptor(rawValue: ends.0), FileDescriptor(rawValue: ends.1))
  }
}
