import BatonCommands
import BatonWorker

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The `baton` binary: assembles the real environment and runs the command.
@main
enum Main {
  static func main() async {
    let environment = CommandEnvironment.live()
    // This has to come before the token is read.
    ProcessPrivacy.hide(environment: environment.variables)
    exit(await BatonCommand.execute(Array(CommandLine.arguments.dropFirst()), in: environment))
  }
}
